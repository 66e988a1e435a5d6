/* Checks of the test programs. */

#ifndef BASALT_TESTS_CHECK_H_
#define BASALT_TESTS_CHECK_H_

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                        \
  do {                                                                          \
    if (!(condition)) {                                                         \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);           \
      exit(1);                                                                  \
    }                                                                           \
  } while (0)

/* No error is there. */
#define FINE(error)                                                             \
  do {                                                                          \
    if ((error) != NULL) {                                                      \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, (error));              \
      exit(1);                                                                  \
    }                                                                           \
  } while (0)

/* An error is there that begins with `kind`; it is freed. */
#define FAILED(error, kind)                                                     \
  do {                                                                          \
    CHECK((error) != NULL);                                                     \
    if (strncmp((error), (kind), strlen(kind)) != 0) {                          \
      fprintf(stderr, "%s:%d: %s, not %s\n", __FILE__, __LINE__, (error), (kind)); \
      exit(1);                                                                  \
    }                                                                           \
    free(error);                                                                \
    (error) = NULL;                                                             \
  } while (0)

/* The bytes are those of the text. */
#define SAME(text, bytes, length) \
  CHECK((bytes) != NULL && (length) == strlen(text) && memcmp((text), (bytes), (length)) == 0)

#endif
