/* array.h -- the number of elements of an array. */
#ifndef VS_ARRAY_H
#define VS_ARRAY_H

#define VS_COUNT(array) (sizeof(array) / sizeof *(array))

#endif
