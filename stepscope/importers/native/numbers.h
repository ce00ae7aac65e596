// Numbers out of JSON texts, exactly or not at all: what is not plainly right is left to Python.
#ifndef STEPSCOPE_NUMBERS_H
#define STEPSCOPE_NUMBERS_H

#include "json_cursor.h"

namespace stepscope {

// A decimal number times 1000, digits beyond that rounded half away from zero. False for exponents, quotes,
// more than twelve decimals and what could leave int64.
inline bool thousandths(Slice text, int64_t& out) {
  const char* p = text.at;
  const char* const end = p + text.size;
  const bool negative = p != end && *p == '-';
  if (negative) ++p;
  const char* const first = p;
  int64_t value = 0;
  while (p != end && is_digit(*p) && p - first < 16) value = value * 10 + (*p++ - '0');
  if (p == first || (p - first == 16 && *first == '9')) return false;
  value *= 1000;
  if (p != end) {
    if (*p++ != '.' || p == end || end - p > 12) return false;
    int64_t scale = 100;
    bool up = false;
    for (const char* const point = p; p != end; ++p) {
      if (!is_digit(*p)) return false;
      if (scale) value += scale * (*p - '0');
      else if (p - point == 3) up = *p >= '5';
      scale /= 10;
    }
    value += up;
  }
  out = negative ? -value : value;
  return true;
}

// An id or a size: an integer, one in quotes, or hexadecimal in quotes; -1 for null, and for no text at all.
// Unsigned ones beyond int64 keep their bits.
inline bool integer(Slice text, int64_t& out) {
  out = -1;
  if (text.size == 0 || text.is("null", 4)) return true;
  const char* p = text.at;
  const char* end = p + text.size;
  if (*p == '"') {
    ++p;
    --end;
    if (end - p > 2 && p[0] == '0' && (p[1] == 'x' || p[1] == 'X')) {
      p += 2;
      if (end - p > 15) return false;
      int64_t value = 0;
      for (; p != end; ++p) {
        const char c = *p;
        const int digit = is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10
                          : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
        if (digit < 0) return false;
        value = value << 4 | digit;
      }
      out = value;
      return true;
    }
  }
  const bool negative = p != end && *p == '-';
  if (negative) ++p;
  if (p == end || end - p > 20) return false;
  uint64_t value = 0;
  for (; p != end; ++p) {
    if (!is_digit(*p)) return false;
    const uint64_t digit = static_cast<uint64_t>(*p - '0');
    if (value > (UINT64_MAX - digit) / 10) return false;
    value = value * 10 + digit;
  }
  if (negative && value > static_cast<uint64_t>(INT64_MAX)) return false;
  out = static_cast<int64_t>(negative ? 0 - value : value);
  return true;
}

}  // namespace stepscope

#endif
