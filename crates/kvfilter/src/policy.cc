// A filter policy for RocksDB's tables that asks functions of Rust (calls.rs).
//
// RocksDB's C API has filters of RocksDB only, so this is the C++ class behind a policy of someone else. RocksDB has
// one filter for a file of sorted keys. It is made of all of its keys, and asked before the file is read.

#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "rocksdb/options.h"
#include "rocksdb/slice.h"
#include "rocksdb/table.h"
#include "table/block_based/filter_policy_internal.h"

using namespace ROCKSDB_NAMESPACE;

// The same definition as in RocksDB's db/c.cc, which no header has.
struct rocksdb_options_t {
  Options rep;
};

// Rust reads an array of them as pairs of an address and a length.
static_assert(std::is_standard_layout<Slice>::value && sizeof(Slice) == 2 * sizeof(size_t));

namespace {

using Append = void (*)(void* filter, const char* bytes, size_t length);
using Create = unsigned char (*)(void* state, const Slice* keys, size_t count, void* filter, Append append);
using MayMatch = unsigned char (*)(void* state, const char* key, size_t key_length, const char* filter,
                                   size_t filter_length);
using Destroy = void (*)(void* state);

// The last byte of a stored filter. A filter without any byte would not be asked at all.
constexpr char kNoFilter = 0;
constexpr char kFilter = 1;

// The policy in Rust. Builders and readers share it with the policy, because cached readers may outlive that.
struct State {
  void* state;
  Destroy destroy;
  Create create;
  MayMatch may_match;

  State(void* s, Destroy d, Create c, MayMatch m) : state(s), destroy(d), create(c), may_match(m) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { destroy(state); }
};

void AppendTo(void* filter, const char* bytes, size_t length) {
  static_cast<std::string*>(filter)->append(bytes, length);
}

// Collects the keys of a file.
class Builder : public FilterBitsBuilder {
 public:
  explicit Builder(std::shared_ptr<State> state) : state_(std::move(state)) {}

  // Keys come in order, once for each of their versions.
  void AddKey(const Slice& key) override {
    if (!ends_.empty() && Key(ends_.size() - 1) == key) return;
    bytes_.append(key.data(), key.size());
    ends_.push_back(bytes_.size());
  }

  void AddKeyAndAlt(const Slice& key, const Slice& alt) override {
    AddKey(key);
    AddKey(alt);
  }

  size_t EstimateEntriesAdded() override { return ends_.size(); }

  using FilterBitsBuilder::Finish;

  Slice Finish(std::unique_ptr<const char[]>* buffer) override {
    std::vector<Slice> keys;
    keys.reserve(ends_.size());
    for (size_t at = 0; at < ends_.size(); at++) keys.push_back(Key(at));
    std::string filter;
    const bool is_made = state_->create(state_->state, keys.data(), keys.size(), &filter, AppendTo) != 0;
    filter.push_back(is_made ? kFilter : kNoFilter);
    bytes_.clear();
    ends_.clear();
    char* copy = new char[filter.size()];
    filter.copy(copy, filter.size());
    buffer->reset(copy);
    return Slice(copy, filter.size());
  }

  // Estimates for partitioned filters: ten bits for each key, as a Bloom filter has them.
  size_t ApproximateNumEntries(size_t bytes) override { return bytes * 8 / 10; }
  size_t CalculateSpace(size_t entries) override { return entries * 10 / 8 + 1; }
  double EstimatedFpRate(size_t, size_t) override { return 0.01; }

 private:
  Slice Key(size_t at) const {
    const size_t start = at == 0 ? 0 : ends_[at - 1];
    return Slice(bytes_.data() + start, ends_[at] - start);
  }

  std::shared_ptr<State> state_;
  std::string bytes_;
  std::vector<size_t> ends_;
};

// Asks the filter of a file.
class Reader : public FilterBitsReader {
 public:
  Reader(std::shared_ptr<State> state, const Slice& stored) : state_(std::move(state)), stored_(stored) {}

  using FilterBitsReader::MayMatch;

  bool MayMatch(const Slice& key) override {
    if (stored_.empty() || stored_[stored_.size() - 1] != kFilter) return true;
    return state_->may_match(state_->state, key.data(), key.size(), stored_.data(), stored_.size() - 1) != 0;
  }

 private:
  std::shared_ptr<State> state_;
  Slice stored_;
};

class Policy : public FilterPolicy {
 public:
  Policy(const char* name, std::shared_ptr<State> state) : name_(name), state_(std::move(state)) {}

  const char* Name() const override { return name_.c_str(); }
  // Files with the filters of another policy are read without them.
  const char* CompatibilityName() const override { return name_.c_str(); }

  FilterBitsBuilder* GetBuilderWithContext(const FilterBuildingContext&) const override {
    return new Builder(state_);
  }

  FilterBitsReader* GetFilterBitsReader(const Slice& stored) const override {
    return new Reader(state_, stored);
  }

 private:
  std::string name_;
  std::shared_ptr<State> state_;
};

}  // namespace

// Sets the filter policy of the block-based tables of `options`, and takes `state` over. Returns 0 if the options
// have tables of another kind.
extern "C" unsigned char basalt_set_filter_policy(rocksdb_options_t* options, const char* name, void* state,
                                                  Destroy destroy, Create create, MayMatch may_match) {
  auto shared = std::make_shared<State>(state, destroy, create, may_match);
  TableFactory* factory = options->rep.table_factory.get();
  auto* table = factory == nullptr ? nullptr : factory->GetOptions<BlockBasedTableOptions>();
  if (table == nullptr) return 0;
  table->filter_policy = std::make_shared<Policy>(name, std::move(shared));
  return 1;
}
