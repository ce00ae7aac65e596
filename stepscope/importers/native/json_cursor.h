// Walks over strictly valid JSON and over nothing else: at the first byte that strict JSON does not allow,
// or that the Python reader would have to look at twice, a function returns false and reading stops.
#ifndef STEPSCOPE_JSON_CURSOR_H
#define STEPSCOPE_JSON_CURSOR_H

#include "bytes16.h"

namespace stepscope {

// A piece of the text that is read.
struct Slice {
  const char* at;
  int32_t size;

  bool is(const char* text, int32_t length) const {
    return size == length && std::memcmp(at, text, static_cast<size_t>(length)) == 0;
  }
};

inline bool is_digit(char c) { return static_cast<unsigned char>(c - '0') < 10; }

class Cursor {
 public:
  Cursor(const char* begin, const char* end) : p(begin), end_(end) {}

  const char* p;
  // Set when a string with an escape was passed, resp. one with "{" in it; cleared by the caller.
  bool saw_escape = false;
  bool saw_brace = false;
  // Set when a string was passed that ends in "Collective name" right behind a quote, escaped or not.
  bool saw_collective = false;

  bool at_end() const { return p == end_; }
  bool is(char c) const { return p != end_ && *p == c; }
  bool take(char c) {
    if (!is(c)) return false;
    ++p;
    return true;
  }

  void space() {
    const char* at = p;
    if (at == end_ || static_cast<unsigned char>(*at) > ' ') return;
    if (*at == ' ' && end_ - at > 1 && static_cast<unsigned char>(at[1]) > ' ') {
      p = at + 1;
      return;
    }
#if defined(STEPSCOPE_BYTES16)
    while (end_ - at >= 16) {
      const Mask mask = Bytes16(at).not_space();
      if (mask) {
        p = at + first_of(mask);
        return;
      }
      at += 16;
    }
#endif
    while (at != end_ && (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t')) ++at;
    p = at;
  }

  // A string, its quotes included.
  bool string() {
    const char* at = p;
    if (at == end_ || *at != '"') return false;
    ++at;
    for (;;) {
#if defined(STEPSCOPE_BYTES16)
      while (end_ - at >= 16) {
        const Mask special = Bytes16(at).special();
        if (special) {
          at += first_of(special);
          break;
        }
        at += 16;
      }
#endif
      while (at != end_ && is_plain(*at)) ++at;
      if (at == end_) return false;
      if (*at == '"') {
        p = at + 1;
        return true;
      }
      if (*at == '{') {
        saw_brace = true;
        ++at;
        continue;
      }
      p = at;
      if (*at != '\\' || !escape()) return false;
      at = p;
      saw_escape = true;
    }
  }

  // A number of any size; its text is what counts.
  bool number() {
    const char* at = p;
    if (at != end_ && *at == '-') ++at;
    if (at != end_ && *at == '0') ++at;
    else if (!digits(at)) return false;
    if (at != end_ && *at == '.') {
      ++at;
      if (!digits(at)) return false;
    }
    if (at != end_ && (*at == 'e' || *at == 'E')) {
      ++at;
      if (at != end_ && (*at == '+' || *at == '-')) ++at;
      if (!digits(at)) return false;
    }
    p = at;
    return true;
  }

  // Any value, after space. Objects may nest some levels deep, which the deepest real args never reach.
  bool value(int depth = 0) {
    if (p == end_) return false;
    switch (*p) {
      case '"': {
        const char* begin = p;
        if (!string()) return false;
        note_collective(begin);
        return true;
      }
      case '{': return depth < kDeepest && object(depth + 1);
      case '[': return depth < kDeepest && list(depth + 1);
      case 't': return word("true", 4);
      case 'f': return word("false", 5);
      case 'n': return word("null", 4);
      default: return number();
    }
  }

  bool value(Slice& out) {
    const char* begin = p;
    // Most are numbers, told here at each place of use since the processor then foresees better what comes.
    if (p != end_ && is_digit(*p) ? !number() : !value()) return false;
    out = slice(begin);
    return true;
  }

  Slice slice(const char* begin) const { return Slice{begin, static_cast<int32_t>(p - begin)}; }

  void note_collective(const char* begin) {
    static const char kName[] = "\"Collective name\"";
    const int size = sizeof(kName) - 1;
    if (p - begin >= size && p[-2] == 'e' && std::memcmp(p - size, kName, size) == 0) saw_collective = true;
  }

 private:
  static const int kDeepest = 64;
  const char* end_;

  // As opposed to Bytes16::special.
  static bool is_plain(char c) { return c != '"' && c != '\\' && c != '{' && static_cast<unsigned char>(c) >= 0x20; }

  bool digits(const char*& at) const {
    const char* begin = at;
    while (at != end_ && is_digit(*at)) ++at;
    return at != begin;
  }

  bool word(const char* text, int size) {
    if (end_ - p < size || std::memcmp(p, text, static_cast<size_t>(size)) != 0) return false;
    p += size;
    return true;
  }

  bool escape() {
    ++p;
    if (p == end_) return false;
    switch (*p++) {
      case '"': case '\\': case '/': case 'b': case 'f': case 'n': case 'r': case 't': return true;
      case 'u': break;
      default: return false;
    }
    const int unit = hex4();
    if (unit < 0 || (unit >= 0xdc00 && unit < 0xe000)) return false;
    if (unit < 0xd800 || unit >= 0xe000) return true;
    if (!take('\\') || !take('u')) return false;
    const int low = hex4();
    return low >= 0xdc00 && low < 0xe000;
  }

  int hex4() {
    if (end_ - p < 4) return -1;
    int unit = 0;
    for (int i = 0; i < 4; ++i) {
      const char c = *p++;
      const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
      if (digit < 0) return -1;
      unit = unit << 4 | digit;
    }
    return unit;
  }

  bool object(int depth) {
    ++p;
    saw_brace = true;
    space();
    if (take('}')) return true;
    for (;;) {
      const char* key = p;
      if (!string()) return false;
      note_collective(key);
      space();
      if (!take(':')) return false;
      space();
      if (!value(depth)) return false;
      space();
      if (take('}')) return true;
      if (!take(',')) return false;
      space();
    }
  }

  bool list(int depth) {
    ++p;
    space();
    if (take(']')) return true;
    for (;;) {
      if (!value(depth)) return false;
      space();
      if (take(']')) return true;
      if (!take(',')) return false;
      space();
    }
  }
};

}  // namespace stepscope

#endif
