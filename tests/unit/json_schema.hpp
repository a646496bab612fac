// Reads JSON and checks it against the keywords that the schemas under tests/data/schema use. A keyword that is not
// known here fails the check, so that no rule is passed over in silence. Strict: what is not JSON is not read.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <regex>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace xbond::test {

struct Json {
  using Array = std::vector<Json>;
  using Object = std::map<std::string, Json, std::less<>>;
  std::variant<std::nullptr_t, bool, int64_t, double, std::string, Array, Object> value;
  bool operator==(const Json&) const = default;

  template <class T>
  [[nodiscard]] const T* as() const {
    return std::get_if<T>(&value);
  }
  // A member of an object, nullptr if there is none.
  [[nodiscard]] const Json* get(std::string_view key) const {
    const auto* object = as<Object>();
    if (object == nullptr) return nullptr;
    const auto it = object->find(key);
    return it == object->end() ? nullptr : &it->second;
  }
};

class JsonReader {
 public:
  // nullopt: not one JSON value, or a name twice in an object.
  static std::optional<Json> read(std::string_view text) {
    JsonReader reader(text);
    Json out;
    if (!reader.any(out)) return std::nullopt;
    reader.blanks();
    return reader.text_.empty() ? std::optional(std::move(out)) : std::nullopt;
  }

  static std::optional<Json> read_file(const std::string& path) {
    std::ifstream file(path);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    return read(text);
  }

 private:
  explicit JsonReader(std::string_view text) : text_(text) {}

  void blanks() { text_.remove_prefix(std::min(text_.find_first_not_of(" \t\r\n"), text_.size())); }

  bool word(std::string_view expected) {
    blanks();
    if (!text_.starts_with(expected)) return false;
    text_.remove_prefix(expected.size());
    return true;
  }

  bool any(Json& out) {
    blanks();
    if (text_.empty()) return false;
    switch (text_[0]) {
      case '{':
        return object(out);
      case '[':
        return array(out);
      case '"':
        return string(out.value.emplace<std::string>());
      case 't':
        out.value = true;
        return word("true");
      case 'f':
        out.value = false;
        return word("false");
      case 'n':
        out.value = nullptr;
        return word("null");
      default:
        return number(out);
    }
  }

  bool object(Json& out) {
    auto& members = out.value.emplace<Json::Object>();
    if (!word("{")) return false;
    if (word("}")) return true;
    do {
      std::string key;
      Json content;
      blanks();
      if (!string(key) || !word(":") || !any(content)) return false;
      if (!members.emplace(std::move(key), std::move(content)).second) return false;
    } while (word(","));
    return word("}");
  }

  bool array(Json& out) {
    auto& items = out.value.emplace<Json::Array>();
    if (!word("[")) return false;
    if (word("]")) return true;
    do {
      if (!any(items.emplace_back())) return false;
    } while (word(","));
    return word("]");
  }

  bool string(std::string& out) {
    if (text_.empty() || text_[0] != '"') return false;
    for (size_t i = 1; i < text_.size(); ++i) {
      const char c = text_[i];
      if (c == '"') {
        text_.remove_prefix(i + 1);
        return true;
      }
      if (static_cast<uint8_t>(c) < 0x20) return false;
      if (c != '\\') {
        out += c;
      } else if (!escape(i, out)) {
        return false;
      }
    }
    return false;
  }

  bool escape(size_t& i, std::string& out) {
    static constexpr std::string_view kLetters = "\"\\/bfnrt", kMeaning = "\"\\/\b\f\n\r\t";
    if (++i >= text_.size()) return false;
    if (const size_t at = kLetters.find(text_[i]); at != std::string_view::npos) {
      out += kMeaning[at];
      return true;
    }
    unsigned code = 0;
    const char* digits = text_.data() + i + 1;
    if (text_[i] != 'u' || i + 4 >= text_.size()) return false;
    if (std::from_chars(digits, digits + 4, code, 16).ptr != digits + 4 || code >= 0x80) return false;
    out += static_cast<char>(code);
    i += 4;
    return true;
  }

  bool number(Json& out) {
    const size_t length = std::min(text_.find_first_not_of("+-.0123456789eE"), text_.size());
    const std::string_view digits = text_.substr(0, length);
    static const std::regex kNumber("-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][+-]?[0-9]+)?");
    if (!std::regex_match(digits.begin(), digits.end(), kNumber)) return false;
    text_.remove_prefix(length);
    int64_t whole = 0;
    const auto end = digits.data() + digits.size();
    if (const auto r = std::from_chars(digits.data(), end, whole); r.ec == std::errc{} && r.ptr == end) {
      out.value = whole;
      return true;
    }
    return std::from_chars(digits.data(), end, out.value.emplace<double>()).ptr == end;
  }

  std::string_view text_;
};

// "" when `value` fits `schema`, else where and why not.
inline std::string mismatch(const Json& value, const Json& schema, const std::string& path = "");

namespace detail {

inline bool is_type(const Json& value, std::string_view type) {
  if (type == "object") return value.as<Json::Object>() != nullptr;
  if (type == "array") return value.as<Json::Array>() != nullptr;
  if (type == "string") return value.as<std::string>() != nullptr;
  if (type == "boolean") return value.as<bool>() != nullptr;
  if (type == "null") return value.as<std::nullptr_t>() != nullptr;
  if (type == "integer") return value.as<int64_t>() != nullptr;
  return type == "number" && (value.as<int64_t>() != nullptr || value.as<double>() != nullptr);
}

inline bool fits_type(const Json& value, const Json& rule) {
  if (const auto* one = rule.as<std::string>()) return is_type(value, *one);
  for (const Json& name : *rule.as<Json::Array>()) {
    if (is_type(value, *name.as<std::string>())) return true;
  }
  return false;
}

inline double as_number(const Json& value) {
  if (const auto* whole = value.as<int64_t>()) return static_cast<double>(*whole);
  return *value.as<double>();
}

inline std::string check_members(const Json::Object& object, const Json& schema, const std::string& path) {
  const Json* properties = schema.get("properties");
  const Json* rest = schema.get("additionalProperties");
  for (const auto& [name, member] : object) {
    const Json* rule = properties != nullptr ? properties->get(name) : nullptr;
    if (rule == nullptr && rest != nullptr && *rest == Json{false}) return path + ": unknown member " + name;
    if (rule == nullptr) continue;
    if (std::string why = mismatch(member, *rule, path + "/" + name); !why.empty()) return why;
  }
  return "";
}

inline std::string check_items(const Json::Array& items, const Json& rule, const std::string& path) {
  for (size_t i = 0; i < items.size(); ++i) {
    if (std::string why = mismatch(items[i], rule, path + "/" + std::to_string(i)); !why.empty()) return why;
  }
  return "";
}

inline std::string check_required(const Json& value, const Json& rule, const std::string& path) {
  if (value.as<Json::Object>() == nullptr) return "";
  for (const Json& name : *rule.as<Json::Array>()) {
    if (value.get(*name.as<std::string>()) == nullptr) return path + ": no member " + *name.as<std::string>();
  }
  return "";
}

inline std::string check_any_of(const Json& value, const Json& rule, const std::string& path) {
  std::string reasons;
  for (const Json& form : *rule.as<Json::Array>()) {
    const std::string why = mismatch(value, form, path);
    if (why.empty()) return "";
    reasons += "; " + why;
  }
  return path + ": fits no form" + reasons;
}

inline std::string check_keyword(const Json& value, const std::string& keyword, const Json& rule,
                                 const std::string& path) {
  const auto unless = [&](bool fits) { return fits ? std::string() : path + ": does not fit " + keyword; };
  if (keyword == "type") return unless(fits_type(value, rule));
  if (keyword == "const") return unless(value == rule);
  if (keyword == "enum") {
    const auto& allowed = *rule.as<Json::Array>();
    return unless(std::find(allowed.begin(), allowed.end(), value) != allowed.end());
  }
  if (keyword == "minimum") return unless(!is_type(value, "number") || as_number(value) >= as_number(rule));
  if (keyword == "maximum") return unless(!is_type(value, "number") || as_number(value) <= as_number(rule));
  if (keyword == "pattern") {
    const auto* text = value.as<std::string>();
    return unless(text == nullptr || std::regex_search(*text, std::regex(*rule.as<std::string>())));
  }
  if (keyword == "minItems") {
    const auto* items = value.as<Json::Array>();
    return unless(items == nullptr || static_cast<double>(items->size()) >= as_number(rule));
  }
  if (keyword == "items") {
    const auto* items = value.as<Json::Array>();
    return items == nullptr ? "" : check_items(*items, rule, path);
  }
  if (keyword == "anyOf") return check_any_of(value, rule, path);
  if (keyword == "required") return check_required(value, rule, path);
  static constexpr std::string_view kNoRule[] = {"$schema", "title", "description", "properties",
                                                 "additionalProperties"};
  for (const std::string_view known : kNoRule) {
    if (keyword == known) return "";
  }
  return path + ": schema keyword " + keyword + " is not known here";
}

}  // namespace detail

inline std::string mismatch(const Json& value, const Json& schema, const std::string& path) {
  const auto* rules = schema.as<Json::Object>();
  if (rules == nullptr) return path + ": the schema is not an object";
  for (const auto& [keyword, rule] : *rules) {
    if (std::string why = detail::check_keyword(value, keyword, rule, path); !why.empty()) return why;
  }
  const auto* object = value.as<Json::Object>();
  return object == nullptr ? "" : detail::check_members(*object, schema, path);
}

}  // namespace xbond::test
