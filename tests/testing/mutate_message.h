// Random damage to a message, for tests that whatever a file holds is answered
// with a Status.

#ifndef TESTS_TESTING_MUTATE_MESSAGE_H_
#define TESTS_TESTING_MUTATE_MESSAGE_H_

#include <cstdint>

#include "google/protobuf/message.h"

namespace reprise {

// Changes one field somewhere in `message`: clears it, drops, doubles or swaps
// entries, or gives it an odd number, another string of the message, or a
// value of an enum that may not exist. Equal seeds do equal damage.
void MutateMessage(google::protobuf::Message& message, uint64_t seed);

}  // namespace reprise

#endif  // TESTS_TESTING_MUTATE_MESSAGE_H_
