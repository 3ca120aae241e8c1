// How many random instances a test draws.

#ifndef TESTS_TESTING_INSTANCES_H_
#define TESTS_TESTING_INSTANCES_H_

namespace reprise {

// Whether this is built for a sanitizer, which makes a test about ten times
// slower.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif
#else
constexpr bool kSanitized = false;
#endif

// Returns `count`, and a tenth of it for a sanitizer, which looks at every
// access of what it sees: kinds matter to it more than numbers.
template <class Int>
constexpr Int Instances(Int count) {
  return kSanitized ? (count + 9) / 10 : count;
}

}  // namespace reprise

#endif  // TESTS_TESTING_INSTANCES_H_
