/* include/pawl/export.h - macros for declaring public symbols. */
#ifndef PAWL_EXPORT_H
#define PAWL_EXPORT_H

#ifdef __cplusplus
#define PAWL_BEGIN_DECLS extern "C" {
#define PAWL_END_DECLS }
#else
#define PAWL_BEGIN_DECLS
#define PAWL_END_DECLS
#endif

#if defined(__GNUC__)
#define PAWL_API __attribute__((visibility("default")))
#define PAWL_MUST_CHECK __attribute__((warn_unused_result))
#define PAWL_PRINTF(string, first) __attribute__((format(printf, string, first)))
#else
#define PAWL_API
#define PAWL_MUST_CHECK
#define PAWL_PRINTF(string, first)
#endif

#endif
