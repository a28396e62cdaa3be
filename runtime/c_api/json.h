// Writing JSON.
#pragma once

#include <cstdint>
#include <string>

namespace onnx_ascend {

// Builds one JSON text from its beginning to its end; commas are its own business.
class JsonWriter {
  public:
    JsonWriter& begin_object() { return open('{'); }
    JsonWriter& end_object() { return close('}'); }
    JsonWriter& begin_array() { return open('['); }
    JsonWriter& end_array() { return close(']'); }
    JsonWriter& key(const char* name);

    JsonWriter& string(const std::string& value);
    // An empty string is null.
    JsonWriter& string_or_null(const std::string& value) { return value.empty() ? null() : string(value); }
    JsonWriter& integer(int64_t value) { return raw(std::to_string(value)); }
    JsonWriter& boolean(bool value) { return raw(value ? "true" : "false"); }
    JsonWriter& null() { return raw("null"); }

    const std::string& text() const { return text_; }

  private:
    JsonWriter& open(char bracket);
    JsonWriter& close(char bracket);
    JsonWriter& raw(const std::string& token);
    void separate();

    std::string text_;
};

}  // namespace onnx_ascend
