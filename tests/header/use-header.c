/* Uses the header in each way that a macro of it could break: scripts/test-header compiles this as
 * C and as C++. The header comes first, so that it needs nothing included before it. */
#include "kafkabi.h"

#if KABI_ABI_VERSION < 0x00010000u || KABI_STATUS_QUEUE_FULL >= 0
#error "constants must work in the preprocessor"
#endif

kabi_status_t use_header(kabi_error_t *out);

kabi_status_t use_header(kabi_error_t *out) {
  kabi_error_t error = KABI_ERROR_INIT;
  const uint32_t sizes[] = KABI_RECORD_SIZES;
  kabi_event_handler_t handler = NULL;
  int64_t offset = 10 - KABI_OFFSET_INVALID;
  uint32_t events = KABI_EVENT_DEFAULT & ~KABI_EVENT_ERROR;
  *out = error;
  if (handler != NULL || sizes[0] == 0 || offset < 0 || events == 0) {
    return KABI_STATUS_ARGUMENT;
  }
  return KABI_STATUS_OK;
}
