/* array.h -- how many elements an array has. */
#ifndef VS_ARRAY_H
#define VS_ARRAY_H

#define VS_COUNT(array) (sizeof(array) / sizeof *(array))

#endif
