// libzip imports as it is; the header stands here so that the module map names no path.
#ifndef KEYSHARING_CLIBZIP_SHIM_H
#define KEYSHARING_CLIBZIP_SHIM_H

#include <zip.h>

#endif
