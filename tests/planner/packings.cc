#include "tests/planner/packings.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"

namespace reprise {
namespace {

bool Overlap(const Lifetime& a, const Lifetime& b) {
  return a.begin < b.end && b.begin < a.end;
}

// In [0, bound).
int64_t Below(std::mt19937_64& random, int64_t bound) {
  return static_cast<int64_t>(random() % static_cast<uint64_t>(bound));
}

bool Chance(std::mt19937_64& random, double probability) {
  return static_cast<double>(random() >> 11) * 0x1p-53 < probability;
}

struct Piece {
  int32_t begin;
  int32_t end;
  int64_t bottom;
  int64_t top;

  double Area() const {
    return static_cast<double>(end - begin) * static_cast<double>(top - bottom);
  }
};

// Five pieces around a middle one, which no straight cut makes, or two.
void Cut(std::mt19937_64& random, size_t which, std::vector<Piece>& pieces) {
  const Piece piece = pieces[which];
  const int32_t width = piece.end - piece.begin;
  const int64_t height = piece.top - piece.bottom;
  if (width >= 3 && height >= 3 && Chance(random, 0.2)) {
    const int32_t x0 =
        piece.begin + 1 + static_cast<int32_t>(Below(random, width - 2));
    const int32_t x1 =
        x0 + 1 + static_cast<int32_t>(Below(random, piece.end - x0 - 1));
    const int64_t y0 = piece.bottom + 1 + Below(random, height - 2);
    const int64_t y1 = y0 + 1 + Below(random, piece.top - y0 - 1);
    pieces[which] = {piece.begin, x1, piece.bottom, y0};
    pieces.push_back({x1, piece.end, piece.bottom, y1});
    pieces.push_back({x0, piece.end, y1, piece.top});
    pieces.push_back({piece.begin, x0, y0, piece.top});
    pieces.push_back({x0, x1, y0, y1});
  } else if (width >= 2 && Chance(random, 0.5)) {
    const int32_t x =
        piece.begin + 1 + static_cast<int32_t>(Below(random, width - 1));
    pieces[which].end = x;
    pieces.push_back({x, piece.end, piece.bottom, piece.top});
  } else if (height >= 2) {
    const int64_t y = piece.bottom + 1 + Below(random, height - 1);
    pieces[which].top = y;
    pieces.push_back({piece.begin, piece.end, y, piece.top});
  }
}

}  // namespace

Buffer MakeBuffer(int64_t bytes, int32_t begin, int32_t end) {
  Buffer buffer;
  buffer.bytes = bytes;
  buffer.life = {begin, end};
  return buffer;
}

std::vector<Buffer> RandomBuffers(std::mt19937_64& random, int n) {
  std::vector<Buffer> buffers;
  for (int i = 0; i < n; ++i) {
    const int32_t begin = static_cast<int32_t>(Below(random, 10));
    const int32_t length = 1 + static_cast<int32_t>(Below(random, 6));
    buffers.push_back(MakeBuffer(1 + Below(random, 12), begin, begin + length));
  }
  return buffers;
}

std::vector<Buffer> CutRectangle(std::mt19937_64& random,
                                 const CutOptions& options) {
  std::vector<Piece> pieces = {{0, options.num_steps, 0, options.height}};
  while (static_cast<int>(pieces.size()) < options.num_buffers) {
    // The largest of three drawn, so that sizes vary but do not vanish.
    size_t which = 0;
    double area = 0;
    for (int draw = 0; draw < 3; ++draw) {
      const size_t p = static_cast<size_t>(
          Below(random, static_cast<int64_t>(pieces.size())));
      if (pieces[p].Area() <= area) continue;
      which = p;
      area = pieces[p].Area();
    }
    Cut(random, which, pieces);
  }
  const int32_t full = static_cast<int32_t>(Below(random, options.num_steps));
  std::vector<Buffer> buffers;
  for (Piece piece : pieces) {
    if (full < piece.begin || piece.end <= full) {
      if (Chance(random, options.left_out)) continue;
      if (Chance(random, options.shortened)) {
        piece.end -=
            static_cast<int32_t>(Below(random, piece.end - piece.begin));
      }
    }
    buffers.push_back(
        MakeBuffer((piece.top - piece.bottom) * options.grain_bytes,
                   piece.begin, piece.end));
  }
  for (size_t i = buffers.size(); i > 1; --i) {
    std::swap(buffers[i - 1], buffers[Below(random, static_cast<int64_t>(i))]);
  }
  return buffers;
}

std::string Mistake(absl::Span<const Buffer> buffers,
                    absl::Span<const int64_t> offsets, int64_t height) {
  if (offsets.size() != buffers.size()) {
    return absl::StrCat(offsets.size(), " offsets for ", buffers.size(),
                        " buffers");
  }
  int64_t top = 0;
  for (size_t a = 0; a < buffers.size(); ++a) {
    if (offsets[a] < 0) return absl::StrCat("buffer ", a, " is below 0");
    top = std::max(top, offsets[a] + buffers[a].bytes);
    for (size_t b = 0; b < a; ++b) {
      if (Overlap(buffers[a].life, buffers[b].life) &&
          offsets[a] < offsets[b] + buffers[b].bytes &&
          offsets[b] < offsets[a] + buffers[a].bytes) {
        return absl::StrCat("buffers ", a, " and ", b, " overlap");
      }
    }
  }
  if (top == height) return "";
  return absl::StrCat("height is ", height, ", but offsets reach ", top);
}

int64_t LeastHeight(absl::Span<const Buffer> buffers) {
  std::vector<size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), size_t{0});
  int64_t least = INT64_MAX;
  do {
    std::vector<int64_t> offsets(buffers.size(), -1);
    int64_t height = 0;
    for (const size_t b : order) {
      int64_t at = 0;
      for (bool moved = true; moved;) {
        moved = false;
        for (size_t o = 0; o < buffers.size(); ++o) {
          if (offsets[o] < 0 || !Overlap(buffers[b].life, buffers[o].life)) {
            continue;
          }
          if (at < offsets[o] + buffers[o].bytes &&
              offsets[o] < at + buffers[b].bytes) {
            at = offsets[o] + buffers[o].bytes;
            moved = true;
          }
        }
      }
      offsets[b] = at;
      height = std::max(height, at + buffers[b].bytes);
    }
    least = std::min(least, height);
  } while (std::next_permutation(order.begin(), order.end()));
  return least;
}

}  // namespace reprise
