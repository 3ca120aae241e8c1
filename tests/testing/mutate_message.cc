#include "tests/testing/mutate_message.h"

#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include "core/random.h"
#include "google/protobuf/descriptor.h"

namespace reprise {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

constexpr int64_t kIntegers[] = {0,
                                 1,
                                 2,
                                 3,
                                 7,
                                 64,
                                 1000,
                                 -1,
                                 -2,
                                 -8,
                                 int64_t{1} << 31,
                                 int64_t{1} << 33,
                                 -(int64_t{1} << 31),
                                 std::numeric_limits<int64_t>::max(),
                                 std::numeric_limits<int64_t>::min()};
constexpr double kFloats[] = {0,
                              1,
                              -1,
                              0.5,
                              1e30,
                              -1e-30,
                              std::numeric_limits<double>::infinity(),
                              std::numeric_limits<double>::quiet_NaN()};

class Mutator {
 public:
  Mutator(Message& root, uint64_t seed)
      : root_(root), key_(RandomKey(seed, NameHash("mutate"))) {}

  void Run() {
    Collect(root_);
    // Draw until something has changed; most first draws do.
    for (int attempt = 0; attempt < 100; ++attempt) {
      Message& message = *messages_[Draw(messages_.size())];
      const auto* descriptor = message.GetDescriptor();
      if (descriptor->field_count() == 0) continue;
      const FieldDescriptor& field =
          *descriptor->field(static_cast<int>(Draw(descriptor->field_count())));
      if (field.is_repeated() ? MutateList(message, field)
                              : MutateField(message, field)) {
        return;
      }
    }
  }

 private:
  uint64_t Draw(uint64_t bound) { return RandomBits(key_, index_++) % bound; }

  void Collect(Message& message) {
    messages_.push_back(&message);
    const Reflection& reflection = *message.GetReflection();
    std::vector<const FieldDescriptor*> fields;
    reflection.ListFields(message, &fields);
    for (const FieldDescriptor* field : fields) {
      const int size =
          field->is_repeated() ? reflection.FieldSize(message, field) : 1;
      for (int i = 0; i < size; ++i) {
        if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
          Collect(field->is_repeated()
                      ? *reflection.MutableRepeatedMessage(&message, field, i)
                      : *reflection.MutableMessage(&message, field));
        } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
          strings_.push_back(
              field->is_repeated()
                  ? reflection.GetRepeatedString(message, field, i)
                  : reflection.GetString(message, field));
        }
      }
    }
  }

  std::string String() {
    switch (Draw(12)) {
      case 0:
        return "";
      case 1:
        return "\xff";
      case 2:
        return std::string(300, 'n');
      default:
        return strings_.empty() ? "s" : strings_[Draw(strings_.size())];
    }
  }

  int64_t Integer() { return kIntegers[Draw(std::size(kIntegers))]; }

  bool MutateList(Message& message, const FieldDescriptor& field) {
    const Reflection& reflection = *message.GetReflection();
    const int size = reflection.FieldSize(message, &field);
    if (size == 0) return AddEntry(message, field);
    const int i = static_cast<int>(Draw(size));
    switch (Draw(4)) {
      case 0:
        reflection.SwapElements(&message, &field, i, size - 1);
        reflection.RemoveLast(&message, &field);
        return true;
      case 1:
        reflection.SwapElements(&message, &field, i,
                                static_cast<int>(Draw(size)));
        return true;
      case 2:
        if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
          const std::string copy =
              reflection.GetRepeatedMessage(message, &field, i)
                  .SerializeAsString();
          return reflection.AddMessage(&message, &field)->ParseFromString(copy);
        }
        return AddEntry(message, field);
      default:
        return SetEntry(message, field, i);
    }
  }

  bool AddEntry(Message& message, const FieldDescriptor& field) {
    const Reflection& reflection = *message.GetReflection();
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_MESSAGE:
        reflection.AddMessage(&message, &field);
        return true;
      case FieldDescriptor::CPPTYPE_STRING:
        reflection.AddString(&message, &field, String());
        return true;
      case FieldDescriptor::CPPTYPE_INT64:
        reflection.AddInt64(&message, &field, Integer());
        return true;
      case FieldDescriptor::CPPTYPE_FLOAT:
        reflection.AddFloat(&message, &field, Float());
        return true;
      default:
        return false;
    }
  }

  bool SetEntry(Message& message, const FieldDescriptor& field, int i) {
    const Reflection& reflection = *message.GetReflection();
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_STRING:
        reflection.SetRepeatedString(&message, &field, i, String());
        return true;
      case FieldDescriptor::CPPTYPE_INT64:
        reflection.SetRepeatedInt64(&message, &field, i, Integer());
        return true;
      case FieldDescriptor::CPPTYPE_FLOAT:
        reflection.SetRepeatedFloat(&message, &field, i, Float());
        return true;
      default:
        return false;
    }
  }

  float Float() {
    return static_cast<float>(kFloats[Draw(std::size(kFloats))]);
  }

  bool MutateField(Message& message, const FieldDescriptor& field) {
    const Reflection& reflection = *message.GetReflection();
    if (reflection.HasField(message, &field) && Draw(4) == 0) {
      reflection.ClearField(&message, &field);
      return true;
    }
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_MESSAGE:
        if (reflection.HasField(message, &field)) return false;
        reflection.MutableMessage(&message, &field);
        return true;
      case FieldDescriptor::CPPTYPE_STRING:
        reflection.SetString(&message, &field, String());
        return true;
      case FieldDescriptor::CPPTYPE_INT32:
        reflection.SetInt32(&message, &field, static_cast<int32_t>(Draw(4)));
        return true;
      case FieldDescriptor::CPPTYPE_INT64:
        reflection.SetInt64(&message, &field, Integer());
        return true;
      case FieldDescriptor::CPPTYPE_FLOAT:
        reflection.SetFloat(&message, &field, Float());
        return true;
      case FieldDescriptor::CPPTYPE_BOOL:
        reflection.SetBool(&message, &field, Draw(2) == 0);
        return true;
      case FieldDescriptor::CPPTYPE_ENUM:
        reflection.SetEnumValue(&message, &field, static_cast<int>(Draw(8)));
        return true;
      default:
        return false;
    }
  }

  Message& root_;
  uint64_t key_;
  uint64_t index_ = 0;
  std::vector<Message*> messages_;
  std::vector<std::string> strings_;
};

}  // namespace

void MutateMessage(Message& message, uint64_t seed) {
  Mutator(message, seed).Run();
}

}  // namespace reprise
