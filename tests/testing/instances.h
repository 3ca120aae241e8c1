// How much a test does: less for a sanitizer.

#ifndef TESTS_TESTING_INSTANCES_H_
#define TESTS_TESTING_INSTANCES_H_

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define REPRISE_SANITIZED
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define REPRISE_SANITIZED
#endif

namespace reprise {

// Whether this is built for a sanitizer, which makes a test about ten times
// slower and takes memory, stack and the allocator.
constexpr bool kSanitized =
#ifdef REPRISE_SANITIZED
    true;
#else
    false;
#endif

// Returns `count`, and a tenth of it for a sanitizer, which looks at every
// access of what it sees: kinds matter to it more than numbers.
template <class Int>
constexpr Int Instances(Int count) {
  return kSanitized ? (count + 9) / 10 : count;
}

}  // namespace reprise

#endif  // TESTS_TESTING_INSTANCES_H_
