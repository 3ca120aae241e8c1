#include "core/load_parts.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/names.h"
#include "core/status_macros.h"
#include "google/protobuf/unknown_field_set.h"

namespace reprise {
namespace {

absl::Status Refuse(absl::string_view what) {
  return absl::InvalidArgumentError(what);
}

absl::StatusOr<int64_t> ReadDim(const proto::Dim& dim, const Symbols& symbols) {
  RETURN_IF_ERROR(CheckNoUnknownFields(dim));
  switch (dim.dim_case()) {
    case proto::Dim::kValue:
      return dim.value();
    case proto::Dim::kSymbol: {
      const auto it = symbols.find(dim.symbol());
      if (it == symbols.end()) {
        return Refuse(absl::StrCat("unknown symbol ", Quote(dim.symbol())));
      }
      return it->second;
    }
    case proto::Dim::DIM_NOT_SET:
      break;
  }
  return Refuse("a dim has neither value nor symbol");
}

template <typename T>
void AppendBytes(std::string& bytes, T element) {
  char raw[sizeof(T)];
  std::memcpy(raw, &element, sizeof(T));
  bytes.append(raw, sizeof(T));
}

// Returns the least and the largest integer that `dtype` holds.
std::pair<int64_t, int64_t> IntegerRange(DType dtype) {
  switch (dtype) {
    case DType::kI32:
      return {std::numeric_limits<int32_t>::min(),
              std::numeric_limits<int32_t>::max()};
    case DType::kU8:
      return {0, 255};
    case DType::kBool:
      return {0, 1};
    default:
      return {std::numeric_limits<int64_t>::min(),
              std::numeric_limits<int64_t>::max()};
  }
}

absl::Status AppendIntegers(const google::protobuf::RepeatedField<int64_t>& i,
                            DType dtype, std::string& bytes) {
  const auto [least, most] = IntegerRange(dtype);
  for (const int64_t element : i) {
    if (element < least || element > most) {
      return Refuse(absl::StrCat("element ", element, " is outside ", least,
                                 "..", most, " of ", ToString(dtype)));
    }
    switch (SizeOf(dtype)) {
      case 1:
        AppendBytes(bytes, static_cast<uint8_t>(element));
        break;
      case 4:
        AppendBytes(bytes, static_cast<int32_t>(element));
        break;
      default:
        AppendBytes(bytes, element);
    }
  }
  return absl::OkStatus();
}

absl::Status CheckUniform(const proto::Initializer::Uniform& uniform) {
  RETURN_IF_ERROR(CheckNoUnknownFields(uniform));
  if (!std::isfinite(uniform.low()) || !std::isfinite(uniform.high()) ||
      uniform.low() > uniform.high()) {
    return Refuse(absl::StrCat("uniform needs finite low <= high, got ",
                               uniform.low(), " and ", uniform.high()));
  }
  return absl::OkStatus();
}

absl::Status CheckNormal(const proto::Initializer::Normal& normal) {
  RETURN_IF_ERROR(CheckNoUnknownFields(normal));
  if (!std::isfinite(normal.mean()) || !std::isfinite(normal.stddev()) ||
      normal.stddev() < 0) {
    return Refuse(absl::StrCat("normal needs a finite mean and a stddev >= 0,",
                               " got ", normal.mean(), " and ",
                               normal.stddev()));
  }
  return absl::OkStatus();
}

absl::Status CheckScaling(const proto::Initializer::VarianceScaling& scaling,
                          const TensorType& type) {
  RETURN_IF_ERROR(CheckNoUnknownFields(scaling));
  if (!std::isfinite(scaling.scale()) || scaling.scale() <= 0) {
    return Refuse(absl::StrCat("variance_scaling needs a finite scale > 0, ",
                               "got ", scaling.scale()));
  }
  if (scaling.mode() != proto::Initializer::FAN_IN &&
      scaling.mode() != proto::Initializer::FAN_OUT &&
      scaling.mode() != proto::Initializer::FAN_AVG) {
    return Refuse(absl::StrCat("variance_scaling has the unknown mode ",
                               static_cast<int>(scaling.mode())));
  }
  if (type.rank() < 2) {
    return Refuse(
        absl::StrCat("variance_scaling needs rank >= 2, got ", ToString(type)));
  }
  return absl::OkStatus();
}

absl::Status CheckConstant(float constant, DType dtype) {
  if (!std::isfinite(constant)) {
    return Refuse(absl::StrCat("constant must be finite, got ", constant));
  }
  if (dtype == DType::kF32) return absl::OkStatus();
  // Floats hold every integer up to 2^24; beyond, the wish is doubtful.
  const auto [least, most] = IntegerRange(dtype);
  constexpr double kExact = 1 << 24;
  if (constant != std::floor(constant) || std::fabs(constant) > kExact ||
      constant < static_cast<double>(least) ||
      constant > static_cast<double>(most)) {
    return Refuse(
        absl::StrCat("constant ", constant, " does not fit ", ToString(dtype)));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> ReadStrings(
    const proto::Policy::Strings& strings, absl::string_view policy) {
  RETURN_IF_ERROR(CheckNoUnknownFields(strings));
  if (strings.v().empty()) {
    return Refuse(absl::StrCat(policy, " lists nothing"));
  }
  return std::vector<std::string>(strings.v().begin(), strings.v().end());
}

absl::Status CheckSet(bool set, absl::string_view name) {
  if (set) return absl::OkStatus();
  return Refuse(absl::StrCat(name, " must be true where it is given"));
}

// One level of ReadPolicy; at most kMaxPolicyNesting of them.
absl::StatusOr<Policy> ReadPolicyLevel(const proto::Policy& policy,
                                       const OpTable& ops, int level) {
  RETURN_IF_ERROR(CheckNoUnknownFields(policy));
  if (level > kMaxPolicyNesting) {
    return Refuse(absl::StrCat("policies are nested more than ",
                               kMaxPolicyNesting, " deep"));
  }
  Policy read;
  switch (policy.policy_case()) {
    case proto::Policy::kSaveNothing:
      RETURN_IF_ERROR(CheckSet(policy.save_nothing(), "save_nothing"));
      read.kind = Policy::Kind::kSaveNothing;
      return read;
    case proto::Policy::kSaveEverything:
      RETURN_IF_ERROR(CheckSet(policy.save_everything(), "save_everything"));
      read.kind = Policy::Kind::kSaveEverything;
      return read;
    case proto::Policy::kSaveMatmuls:
      RETURN_IF_ERROR(CheckSet(policy.save_matmuls(), "save_matmuls"));
      read.kind = Policy::Kind::kSaveMatmuls;
      return read;
    case proto::Policy::kSaveMatmulsWithoutBatchDims:
      RETURN_IF_ERROR(CheckSet(policy.save_matmuls_without_batch_dims(),
                               "save_matmuls_without_batch_dims"));
      read.kind = Policy::Kind::kSaveMatmulsWithoutBatchDims;
      return read;
    case proto::Policy::kAuto:
      RETURN_IF_ERROR(CheckSet(policy.auto_(), "auto"));
      read.kind = Policy::Kind::kAuto;
      return read;
    case proto::Policy::kSaveNames:
    case proto::Policy::kSaveAllButNames: {
      const bool save = policy.policy_case() == proto::Policy::kSaveNames;
      read.kind =
          save ? Policy::Kind::kSaveNames : Policy::Kind::kSaveAllButNames;
      ASSIGN_OR_RETURN(read.names,
                       save ? ReadStrings(policy.save_names(), "save_names")
                            : ReadStrings(policy.save_all_but_names(),
                                          "save_all_but_names"));
      for (const std::string& glob : read.names) {
        RETURN_IF_ERROR(CheckGlob(glob));
      }
      return read;
    }
    case proto::Policy::kSaveOps: {
      read.kind = Policy::Kind::kSaveOps;
      ASSIGN_OR_RETURN(read.names, ReadStrings(policy.save_ops(), "save_ops"));
      for (const std::string& name : read.names) {
        const OpDef* op = ops.Find(name);
        if (op == nullptr || op->internal) {
          return Refuse(absl::StrCat("save_ops names the unknown operator ",
                                     Quote(name)));
        }
      }
      return read;
    }
    case proto::Policy::kAnyOf: {
      read.kind = Policy::Kind::kAnyOf;
      RETURN_IF_ERROR(CheckNoUnknownFields(policy.any_of()));
      if (policy.any_of().policy().empty()) {
        return Refuse("any_of lists nothing");
      }
      for (const proto::Policy& part : policy.any_of().policy()) {
        ASSIGN_OR_RETURN(Policy nested, ReadPolicyLevel(part, ops, level + 1));
        read.any_of.push_back(std::move(nested));
      }
      return read;
    }
    case proto::Policy::POLICY_NOT_SET:
      break;
  }
  return Refuse("a policy is given with nothing set");
}

}  // namespace

absl::Status CheckNoUnknownFields(const google::protobuf::Message& message) {
  const google::protobuf::UnknownFieldSet& unknown =
      message.GetReflection()->GetUnknownFields(message);
  if (unknown.empty()) return absl::OkStatus();
  return Refuse(absl::StrCat("unknown field ", unknown.field(0).number(),
                             " in a ", message.GetDescriptor()->name()));
}

absl::StatusOr<DType> ReadDType(proto::DType dtype) {
  switch (dtype) {
    case proto::FLOAT32:
      return DType::kF32;
    case proto::INT32:
      return DType::kI32;
    case proto::INT64:
      return DType::kI64;
    case proto::BOOL:
      return DType::kBool;
    case proto::UINT8:
      return DType::kU8;
    case proto::DTYPE_UNSPECIFIED:
      return Refuse("the element type is unspecified");
    default:
      return Refuse(
          absl::StrCat("unknown element type ", static_cast<int>(dtype)));
  }
}

absl::StatusOr<TensorType> ReadTensorType(const proto::TensorType& type,
                                          const Symbols& symbols) {
  RETURN_IF_ERROR(CheckNoUnknownFields(type));
  ASSIGN_OR_RETURN(const DType dtype, ReadDType(type.dtype()));
  if (type.dim_size() > kMaxRank) {
    return Refuse(
        absl::StrCat("rank ", type.dim_size(), " is above ", kMaxRank));
  }
  Dims dims;
  dims.reserve(type.dim_size());
  for (const proto::Dim& dim : type.dim()) {
    ASSIGN_OR_RETURN(const int64_t number, ReadDim(dim, symbols));
    dims.push_back(number);
  }
  return TensorType::Make(dtype, std::move(dims));
}

absl::StatusOr<Literal> ReadLiteral(const proto::Tensor& tensor,
                                    const Symbols& symbols) {
  RETURN_IF_ERROR(CheckNoUnknownFields(tensor));
  if (!tensor.has_type()) return Refuse("a tensor has no type");
  Literal literal;
  ASSIGN_OR_RETURN(literal.type, ReadTensorType(tensor.type(), symbols));
  const TensorType& type = literal.type;
  if (type.bytes() > kMaxLiteralBytes) {
    return Refuse(absl::StrCat("a constant has at most ", kMaxLiteralBytes,
                               " bytes, ", ToString(type), " has ",
                               type.bytes()));
  }
  const int num_used = (tensor.data().empty() ? 0 : 1) +
                       (tensor.f().empty() ? 0 : 1) +
                       (tensor.i().empty() ? 0 : 1);
  if (num_used > 1) {
    return Refuse(absl::StrCat("a tensor has its content in one of data, f ",
                               "and i, got ", num_used));
  }
  if (num_used == 1 && tensor.data().empty() &&
      tensor.f_size() + tensor.i_size() != type.num_elements()) {
    return Refuse(absl::StrCat(ToString(type), " has ", type.num_elements(),
                               " elements, got ",
                               tensor.f_size() + tensor.i_size()));
  }
  if (!tensor.f().empty()) {
    if (type.dtype != DType::kF32) {
      return Refuse(
          absl::StrCat("f holds FLOAT32, the tensor is ", ToString(type)));
    }
    for (const float element : tensor.f()) AppendBytes(literal.data, element);
  } else if (!tensor.i().empty()) {
    if (type.dtype == DType::kF32) {
      return Refuse(
          absl::StrCat("i holds integers, the tensor is ", ToString(type)));
    }
    RETURN_IF_ERROR(AppendIntegers(tensor.i(), type.dtype, literal.data));
  } else {
    literal.data = tensor.data();
  }
  if (static_cast<int64_t>(literal.data.size()) != type.bytes()) {
    return Refuse(absl::StrCat(ToString(type), " has ", type.bytes(),
                               " bytes, got ", literal.data.size()));
  }
  if (type.dtype == DType::kBool) {
    for (const char c : literal.data) {
      if (c != 0 && c != 1) {
        return Refuse(absl::StrCat("elements of bool are 0 or 1, got ",
                                   static_cast<unsigned char>(c)));
      }
    }
  }
  return literal;
}

absl::StatusOr<AttrValue> ReadAttribute(const proto::Attribute& attribute,
                                        const Symbols& symbols) {
  RETURN_IF_ERROR(CheckNoUnknownFields(attribute));
  switch (attribute.value_case()) {
    case proto::Attribute::kI:
      return AttrValue(attribute.i());
    case proto::Attribute::kF:
      return AttrValue(attribute.f());
    case proto::Attribute::kS:
      if (!IsUtf8(attribute.s())) {
        return Refuse(absl::StrCat(Quote(attribute.s()), " is not UTF-8"));
      }
      return AttrValue(attribute.s());
    case proto::Attribute::kB:
      return AttrValue(attribute.b());
    case proto::Attribute::kType: {
      ASSIGN_OR_RETURN(const DType dtype, ReadDType(attribute.type()));
      return AttrValue(dtype);
    }
    case proto::Attribute::kInts:
      RETURN_IF_ERROR(CheckNoUnknownFields(attribute.ints()));
      return AttrValue(
          Ints(attribute.ints().v().begin(), attribute.ints().v().end()));
    case proto::Attribute::kDims: {
      RETURN_IF_ERROR(CheckNoUnknownFields(attribute.dims()));
      Ints ints;
      for (const proto::Dim& dim : attribute.dims().v()) {
        ASSIGN_OR_RETURN(const int64_t number, ReadDim(dim, symbols));
        ints.push_back(number);
      }
      return AttrValue(std::move(ints));
    }
    case proto::Attribute::kFloats:
      RETURN_IF_ERROR(CheckNoUnknownFields(attribute.floats()));
      return AttrValue(
          Floats(attribute.floats().v().begin(), attribute.floats().v().end()));
    case proto::Attribute::kTensor: {
      ASSIGN_OR_RETURN(Literal literal,
                       ReadLiteral(attribute.tensor(), symbols));
      return AttrValue(std::move(literal));
    }
    case proto::Attribute::VALUE_NOT_SET:
      break;
  }
  return Refuse("no value is set");
}

absl::Status CheckInitializer(const proto::Initializer& initializer,
                              const TensorType& type, const Symbols& symbols) {
  RETURN_IF_ERROR(CheckNoUnknownFields(initializer));
  const auto check_float = [&type](absl::string_view kind) {
    if (type.dtype == DType::kF32) return absl::OkStatus();
    return Refuse(absl::StrCat(kind, " needs f32, got ", ToString(type)));
  };
  switch (initializer.kind_case()) {
    case proto::Initializer::kConstant:
      return CheckConstant(initializer.constant(), type.dtype);
    case proto::Initializer::kUniform:
      RETURN_IF_ERROR(check_float("uniform"));
      return CheckUniform(initializer.uniform());
    case proto::Initializer::kNormal:
      RETURN_IF_ERROR(check_float("normal"));
      return CheckNormal(initializer.normal());
    case proto::Initializer::kVarianceScaling:
      RETURN_IF_ERROR(check_float("variance_scaling"));
      return CheckScaling(initializer.variance_scaling(), type);
    case proto::Initializer::kIdentity:
      RETURN_IF_ERROR(CheckSet(initializer.identity(), "identity"));
      if (type.rank() == 2) return absl::OkStatus();
      return Refuse(
          absl::StrCat("identity needs rank 2, got ", ToString(type)));
    case proto::Initializer::kValue: {
      ASSIGN_OR_RETURN(const Literal literal,
                       ReadLiteral(initializer.value(), symbols));
      if (literal.type == type) return absl::OkStatus();
      return Refuse(absl::StrCat("value is ", ToString(literal.type), ", not ",
                                 ToString(type)));
    }
    case proto::Initializer::KIND_NOT_SET:
      break;
  }
  return Refuse("an initializer is given with nothing set");
}

absl::StatusOr<Policy> ReadPolicy(const proto::Policy& policy,
                                  const OpTable& ops) {
  return ReadPolicyLevel(policy, ops, 1);
}

}  // namespace reprise
