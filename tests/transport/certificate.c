/* tests/transport/certificate.c - a certificate for localhost that is its own authority. */
#include <stdlib.h>

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "peer_private.h"
#include "test.h"

#define MUST(call)                                                                                 \
    do {                                                                                           \
        if (!(call))                                                                               \
            test_fail("%s failed", #call);                                                         \
    } while (0)

static void extend(X509 *certificate, int kind, const char *value)
{
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, NULL, kind, value);

    MUST(extension && X509_add_ext(certificate, extension, -1));
    X509_EXTENSION_free(extension);
}

static const char *text_of(BIO *memory)
{
    char *text;
    long size = BIO_get_mem_data(memory, &text);
    const char *note = test_note("%.*s", (int)size, text);

    BIO_free(memory);
    return note;
}

void certificate_make(const char **ret_key, const char **ret_certificate)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *certificate = X509_new();
    BIO *key_text = BIO_new(BIO_s_mem()), *certificate_text = BIO_new(BIO_s_mem());

    MUST(key && certificate && key_text && certificate_text);
    MUST(X509_set_version(certificate, 2));
    MUST(ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1));
    MUST(X509_gmtime_adj(X509_getm_notBefore(certificate), -3600));
    MUST(X509_gmtime_adj(X509_getm_notAfter(certificate), 86400));
    MUST(X509_set_pubkey(certificate, key));
    X509_NAME *name = X509_get_subject_name(certificate);
    MUST(X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"localhost",
                                    -1, -1, 0));
    MUST(X509_set_issuer_name(certificate, name));
    extend(certificate, NID_basic_constraints, "critical,CA:TRUE");
    extend(certificate, NID_subject_alt_name, "DNS:localhost,IP:127.0.0.1");
    MUST(X509_sign(certificate, key, EVP_sha256()));
    MUST(PEM_write_bio_PrivateKey(key_text, key, NULL, NULL, 0, NULL, NULL));
    MUST(PEM_write_bio_X509(certificate_text, certificate));
    *ret_key = text_of(key_text);
    *ret_certificate = text_of(certificate_text);
    X509_free(certificate);
    EVP_PKEY_free(key);
}
