#include "c_api/json.h"

#include <cstdio>

namespace onnx_ascend {
namespace {

// The length of the UTF-8 sequence that begins at `text[i]`, or 0 when there is none: paths may hold any
// bytes.
size_t sequence_length(const std::string& text, size_t i) {
    const auto byte = [&](size_t k) { return k < text.size() ? static_cast<unsigned char>(text[k]) : 0U; };
    const auto continues = [&](size_t k) { return (byte(k) & 0xC0U) == 0x80U; };
    const unsigned first = byte(i);
    if (first < 0x80U) return 1;
    if (first >= 0xC2U && first <= 0xDFU && continues(i + 1)) return 2;
    if (first >= 0xE0U && first <= 0xEFU && continues(i + 1) && continues(i + 2)) {
        const bool overlong = first == 0xE0U && byte(i + 1) < 0xA0U;
        const bool surrogate = first == 0xEDU && byte(i + 1) >= 0xA0U;
        return overlong || surrogate ? 0 : 3;
    }
    if (first >= 0xF0U && first <= 0xF4U && continues(i + 1) && continues(i + 2) && continues(i + 3)) {
        const bool overlong = first == 0xF0U && byte(i + 1) < 0x90U;
        const bool too_high = first == 0xF4U && byte(i + 1) >= 0x90U;
        return overlong || too_high ? 0 : 4;
    }
    return 0;
}

}  // namespace

JsonWriter& JsonWriter::key(const char* name) {
    string(name);
    text_ += ':';
    return *this;
}

JsonWriter& JsonWriter::string(const std::string& value) {
    separate();
    text_ += '"';
    for (size_t i = 0; i < value.size();) {
        const auto c = static_cast<unsigned char>(value[i]);
        const size_t length = sequence_length(value, i);
        if (length == 0) {
            text_ += "\\ufffd";
            ++i;
            continue;
        }
        if (c == '"' || c == '\\') {
            text_ += '\\';
            text_ += static_cast<char>(c);
        } else if (c < 0x20 || c == 0x7F) {
            char escaped[8];
            std::snprintf(escaped, sizeof escaped, "\\u%04x", c);
            text_ += escaped;
        } else {
            text_.append(value, i, length);
        }
        i += length;
    }
    text_ += '"';
    return *this;
}

JsonWriter& JsonWriter::open(char bracket) {
    separate();
    text_ += bracket;
    return *this;
}

JsonWriter& JsonWriter::close(char bracket) {
    text_ += bracket;
    return *this;
}

JsonWriter& JsonWriter::raw(const std::string& token) {
    separate();
    text_ += token;
    return *this;
}

void JsonWriter::separate() {
    if (text_.empty()) return;
    const char last = text_.back();
    if (last != '{' && last != '[' && last != ':') text_ += ',';
}

}  // namespace onnx_ascend
