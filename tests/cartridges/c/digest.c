/* The cap that hashes. */
#include <inttypes.h>
#include <stdio.h>

#include <openssl/evp.h>

#include "caps.h"

typedef struct digesting {
  EVP_MD_CTX *hash;
  uint64_t bytes;
  uint64_t chunks;
} digesting;

static sluice_status add_value(void *ctx, const sluice_item *item, sluice_error **err) {
  digesting *digesting = ctx;
  const uint8_t *bytes = NULL;
  size_t len = 0;
  (void)err;
  /* A byte string or text counts as it is, any other value as its CBOR. */
  if (sluice_item_bytes(item, &bytes, &len) != SLUICE_OK) {
    const sluice_status status = sluice_item_cbor(item, &bytes, &len);
    if (status != SLUICE_OK) {
      return status;
    }
  }
  digesting->bytes += len;
  digesting->chunks += 1;
  return EVP_DigestUpdate(digesting->hash, bytes, len) == 1 ? SLUICE_OK : SLUICE_LIMIT_REACHED;
}

static sluice_status answer(digesting *digesting, const sluice_output *output, sluice_error **err) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  char hex[2 * EVP_MAX_MD_SIZE + 1] = "", text[256];
  unsigned len = 0, i;
  if (EVP_DigestFinal_ex(digesting->hash, digest, &len) != 1) {
    return SLUICE_LIMIT_REACHED;
  }
  for (i = 0; i < len; i++) {
    snprintf(hex + 2 * i, 3, "%02x", digest[i]);
  }
  snprintf(text, sizeof text, "{\"bytes\":%" PRIu64 ",\"chunks\":%" PRIu64 ",\"sha256\":\"%s\"}",
           digesting->bytes, digesting->chunks, hex);
  return write_text(output, text, err);
}

sluice_status cap_digest(void *ctx, const sluice_request *request, sluice_error **err) {
  streams streams;
  digesting digesting = {EVP_MD_CTX_new(), 0, 0};
  sluice_status status = streams_open(&streams, request, err);
  (void)ctx;
  if (status == SLUICE_OK && EVP_DigestInit_ex(digesting.hash, EVP_sha256(), NULL) != 1) {
    status = SLUICE_LIMIT_REACHED;
  }
  if (status == SLUICE_OK) {
    status = for_each(streams.input, add_value, &digesting, err);
  }
  if (status == SLUICE_OK) {
    status = answer(&digesting, streams.output, err);
  }
  EVP_MD_CTX_free(digesting.hash);
  streams_release(&streams);
  return status;
}
