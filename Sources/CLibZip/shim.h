// Swift imports libzip's header as it is. It is included from here so that the module map needs no path.
#ifndef KEYSHARING_CLIBZIP_SHIM_H
#define KEYSHARING_CLIBZIP_SHIM_H

#include <zip.h>

#endif
