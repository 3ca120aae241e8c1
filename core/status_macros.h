// Error plumbing: early return on a bad Status, and checks of our own logic.

#ifndef CORE_STATUS_MACROS_H_
#define CORE_STATUS_MACROS_H_

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

// Returns from the enclosing function if `expr` is not OK.
#define RETURN_IF_ERROR(expr)                        \
  do {                                               \
    const absl::Status reprise_status = (expr);      \
    if (!reprise_status.ok()) return reprise_status; \
  } while (false)

#define REPRISE_CONCAT_INNER(a, b) a##b
#define REPRISE_CONCAT(a, b) REPRISE_CONCAT_INNER(a, b)
#define REPRISE_ASSIGN_OR_RETURN(tmp, lhs, expr) \
  auto tmp = (expr);                             \
  if (!tmp.ok()) return std::move(tmp).status(); \
  lhs = *std::move(tmp)

// Declares or assigns `lhs` from a StatusOr, or returns its Status.
#define ASSIGN_OR_RETURN(lhs, expr) \
  REPRISE_ASSIGN_OR_RETURN(REPRISE_CONCAT(reprise_or_, __LINE__), lhs, expr)

// Ends the process: a broken invariant of ours, never a mistake of a user.
#define REPRISE_CHECK(condition)                                            \
  do {                                                                      \
    if (!(condition)) {                                                     \
      std::fprintf(stderr, "%s:%d: check failed: %s\n", __FILE__, __LINE__, \
                   #condition);                                             \
      std::abort();                                                         \
    }                                                                       \
  } while (false)

#endif  // CORE_STATUS_MACROS_H_
