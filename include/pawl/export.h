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

/*
 * Marks a function that may still change incompatibly in a minor release: what extensions and
 * libpawl-net itself need, and most applications do not. Its symbol has the version node
 * PAWL_EXPERIMENTAL. Define PAWL_WARN_EXPERIMENTAL before including pawl's headers to get a
 * compiler warning for each use.
 */
#if defined(PAWL_WARN_EXPERIMENTAL) && defined(__GNUC__)
#define PAWL_EXPERIMENTAL __attribute__((deprecated("experimental: it may still change")))
#else
#define PAWL_EXPERIMENTAL
#endif

#endif
