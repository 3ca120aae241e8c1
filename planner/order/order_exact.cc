// A walk over sets of tasks that have run.
//
// Bytes depend on the set only (planner/order/order_model.cc), so the lowest
// peak is the lightest path from the empty set to the full one, where a path
// weighs as much as its heaviest step: Dijkstra's search with a maximum in
// place of the sum. Among sets of equal weight the fullest goes first, so where
// the lower bound can be reached, the walk is hardly longer than the order it
// finds.
//
// Sets are many where branches are independent of each other. Most need no
// choice. From a set of weight w, a stretch t u1 ... uk of tasks where
//
//   each u is ready because t ran, and leaves no more bytes than were there
//   the whole leaves no more bytes than there were before t
//   no step needs more than w
//
// may run at once: moved to the front of any continuation, it adds nothing to
// any step of it, as what a task adds only falls with the tasks done before.
// (What its on-demand tasks free does not count: in the continuation another
// task may have fetched them by then, and the stretch frees nothing any more.)
// An update behind the gradient it reads is such a stretch: the gradient comes
// and goes.
//
//   tasks    dw 100 (reads x 50, dy), u (reads dw), dx 50 (reads w, dy)
//   after dy: {dw u} is a stretch if w has room for 100 more; else dx comes
//            first, or w rises
//
// Source: the search over downward closed sets is that of Ahn et al. (2020),
// arXiv:2003.02369, section 3, there breadth first under a budget that is
// searched for. The stretches are ours.
//
// Cost: bounded by `max_work`. Tested by tests/planner/order_exact_test.cc
// against every order of small graphs.

#include "planner/order/order_exact.h"

#include <algorithm>
#include <cstddef>
#include <queue>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/types/span.h"

namespace reprise {
namespace {

class ExactSearch {
 public:
  ExactSearch(OrderModel& model, const ExactOrderOptions& options)
      : model_(model),
        options_(options),
        words_((model.scheduled().size() + 63) / 64),
        index_of_(1, -1),
        known_(16, Hash{this}, Equal{this}) {
    const std::vector<TaskId>& scheduled = model.scheduled();
    if (!scheduled.empty()) index_of_.resize(scheduled.back() + 1, -1);
    for (size_t i = 0; i < scheduled.size(); ++i) {
      index_of_[scheduled[i]] = static_cast<int32_t>(i);
    }
  }

  ExactOrder Run() {
    end_work_ = model_.work() + options_.max_work;
    ExactOrder result;
    set_.assign(words_, 0);
    Offer(-1, {}, options_.lower_bound_bytes, 0);
    while (!queue_.empty() && !Done()) {
      const Entry entry = queue_.top();
      queue_.pop();
      if (nodes_[entry.node].expanded || nodes_[entry.node].peak < entry.peak) {
        continue;
      }
      GoTo(entry.node);
      // Whatever comes later is no lighter.
      result.bound_bytes = entry.peak;
      if (entry.num_run == NumTasks()) {
        result.scheduled = SequenceOf(entry.node);
        result.proven = true;
        break;
      }
      Expand(entry.node);
    }
    if (!result.proven && queue_.empty() && !Done()) {
      result.proven = true;
      result.bound_bytes = options_.known_peak_bytes;
    }
    GoTo(0);
    return result;
  }

 private:
  struct Node {
    int32_t parent = -1;
    int32_t num_run = 0;
    int64_t peak = 0;  // the lowest found of any order of the set
    bool expanded = false;
    std::vector<TaskId> block;  // what ran since the parent
  };

  struct Entry {
    int64_t peak;
    int32_t num_run;
    int32_t node;

    // The top of a std::priority_queue is its largest element.
    friend bool operator<(const Entry& a, const Entry& b) {
      if (a.peak != b.peak) return a.peak > b.peak;
      if (a.num_run != b.num_run) return a.num_run < b.num_run;
      return a.node < b.node;
    }
  };

  struct Hash {
    const ExactSearch* search;
    size_t operator()(int32_t node) const {
      uint64_t hash = 0;
      for (const uint64_t word : search->SetOf(node)) {
        hash = (hash ^ word) * 0x9E3779B97F4A7C15;
        hash ^= hash >> 29;
      }
      return static_cast<size_t>(hash);
    }
  };
  struct Equal {
    const ExactSearch* search;
    bool operator()(int32_t a, int32_t b) const {
      return search->SetOf(a) == search->SetOf(b);
    }
  };

  bool Done() const { return model_.work() + extra_work_ >= end_work_; }

  int32_t NumTasks() const {
    return static_cast<int32_t>(model_.scheduled().size());
  }

  absl::Span<const uint64_t> SetOf(int32_t node) const {
    return absl::MakeConstSpan(sets_).subspan(node * words_, words_);
  }

  void Flip(TaskId t) {
    const int32_t i = index_of_[t];
    set_[i / 64] ^= uint64_t{1} << (i % 64);
  }

  int64_t Run(TaskId t) {
    Flip(t);
    return model_.Run(t);
  }

  void Undo(TaskId t) {
    Flip(t);
    model_.Undo();
  }

  // Makes the set that has run now a node, or a better way to one; returns it,
  // or -1 if a way as good was known.
  int32_t Offer(int32_t parent, std::vector<TaskId> block, int64_t peak,
                int32_t num_run) {
    const int32_t id = static_cast<int32_t>(nodes_.size());
    sets_.insert(sets_.end(), set_.begin(), set_.end());
    nodes_.emplace_back();
    const auto [it, is_new] = known_.insert(id);
    if (!is_new) {
      nodes_.pop_back();
      sets_.resize(sets_.size() - words_);
      if (nodes_[*it].expanded || nodes_[*it].peak <= peak) return -1;
    }
    const int32_t node = *it;
    nodes_[node].parent = parent;
    nodes_[node].num_run = num_run;
    nodes_[node].peak = peak;
    nodes_[node].block = std::move(block);
    queue_.push({peak, num_run, node});
    return node;
  }

  // Runs what `node` has run, and nothing else.
  void GoTo(int32_t node) {
    std::vector<int32_t> down;
    on_path_.resize(nodes_.size(), false);
    int32_t common = node;
    while (common >= 0 && !on_path_[common]) {
      down.push_back(common);
      common = nodes_[common].parent;
    }
    while (!path_.empty() && path_.back().node != common) {
      const Frame& frame = path_.back();
      for (size_t i = frame.block.size(); i-- > 0;) Undo(frame.block[i]);
      on_path_[frame.node] = false;
      path_.pop_back();
    }
    for (size_t i = down.size(); i-- > 0;) {
      const std::vector<TaskId>& block = nodes_[down[i]].block;
      for (const TaskId t : block) Run(t);
      path_.push_back({down[i], block});
      on_path_[down[i]] = true;
    }
  }

  std::vector<TaskId> SequenceOf(int32_t node) const {
    std::vector<TaskId> reversed;
    for (; node >= 0; node = nodes_[node].parent) {
      const std::vector<TaskId>& block = nodes_[node].block;
      reversed.insert(reversed.end(), block.rbegin(), block.rend());
    }
    std::reverse(reversed.begin(), reversed.end());
    return reversed;
  }

  std::vector<TaskId> ReadyTasks() {
    extra_work_ += NumTasks() / 8;
    std::vector<TaskId> ready;
    for (const TaskId t : model_.scheduled()) {
      if (model_.Ready(t)) ready.push_back(t);
    }
    return ready;
  }

  // Runs `t` and what it makes ready if that is a stretch; see the head of this
  // file. Appends it to `block`, and what got ready by it to `ready`.
  void RunStretch(TaskId t, int64_t peak, std::vector<TaskId>& block,
                  std::vector<TaskId>& ready) {
    const int64_t before = model_.live();
    const size_t begin = block.size();
    bool fits = Run(t) <= peak;
    int64_t freed = model_.freed_on_demand();
    block.push_back(t);
    std::vector<TaskId> next;
    if (fits) {
      next.assign(model_.newly_ready().begin(), model_.newly_ready().end());
      for (size_t i = 0; i < next.size(); ++i) {
        const TaskId u = next[i];
        if (!model_.Ready(u)) continue;
        const int64_t live = model_.live();
        if (Run(u) > peak || model_.live() + model_.freed_on_demand() > live) {
          Undo(u);
          continue;
        }
        freed += model_.freed_on_demand();
        block.push_back(u);
        for (const TaskId reader : model_.newly_ready()) next.push_back(reader);
      }
      fits = model_.live() + freed <= before;
    }
    if (fits) {
      for (const TaskId later : next) ready.push_back(later);
      return;
    }
    while (block.size() > begin) {
      Undo(block.back());
      block.pop_back();
    }
  }

  void Expand(int32_t node) {
    nodes_[node].expanded = true;
    const int64_t peak = nodes_[node].peak;
    std::vector<TaskId> block;
    std::vector<TaskId> ready = ReadyTasks();
    // Again while stretches make others possible.
    for (size_t last_size = SIZE_MAX; block.size() != last_size && !Done();) {
      last_size = block.size();
      for (size_t i = 0; i < ready.size() && !Done(); ++i) {
        if (model_.Ready(ready[i])) RunStretch(ready[i], peak, block, ready);
      }
    }
    if (!block.empty()) {
      // The set that is left is a node like any other, and the next one.
      const int32_t num_run =
          nodes_[node].num_run + static_cast<int32_t>(block.size());
      std::vector<TaskId> copy = block;
      Offer(node, std::move(copy), peak, num_run);
      for (size_t i = block.size(); i-- > 0;) Undo(block[i]);
      return;
    }
    for (const TaskId t : ready) {
      if (Done()) return;
      const int64_t bytes = std::max(peak, Run(t));
      if (bytes < options_.known_peak_bytes) {
        Offer(node, {t}, bytes, nodes_[node].num_run + 1);
      }
      Undo(t);
    }
  }

  struct Frame {
    int32_t node;
    std::vector<TaskId> block;
  };

  OrderModel& model_;
  const ExactOrderOptions& options_;
  const size_t words_;
  std::vector<int32_t> index_of_;  // by task: its bit
  std::vector<uint64_t> set_;      // of what has run
  std::vector<Node> nodes_;
  std::vector<uint64_t> sets_;  // `words_` for each node
  absl::flat_hash_set<int32_t, Hash, Equal> known_;
  std::priority_queue<Entry> queue_;
  std::vector<Frame> path_;  // nodes from the root to what has run
  std::vector<bool> on_path_;
  int64_t end_work_ = 0;
  int64_t extra_work_ = 0;
};

}  // namespace

ExactOrder FindExactOrder(OrderModel& model, const ExactOrderOptions& options) {
  if (options.lower_bound_bytes >= options.known_peak_bytes) {
    ExactOrder result;
    result.proven = true;
    result.bound_bytes = options.known_peak_bytes;
    return result;
  }
  return ExactSearch(model, options).Run();
}

}  // namespace reprise
