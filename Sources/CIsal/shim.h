#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>

/// The size of the buffer that level 2 works in.
static const uint32_t snapsync_isal_level_byte_count = ISAL_DEF_LVL2_DEFAULT;
