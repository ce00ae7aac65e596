// Numbers distinct texts in the order in which they come.
#ifndef STEPSCOPE_DICTIONARY_H
#define STEPSCOPE_DICTIONARY_H

#include <vector>

#include "json_cursor.h"

#if defined(_MSC_VER)
#define STEPSCOPE_NOINLINE __declspec(noinline)
#else
#define STEPSCOPE_NOINLINE __attribute__((noinline))
#endif

namespace stepscope {

class Dictionary {
 public:
  Dictionary() : slots_(1024, 0) {}

  // The texts must live as long as the dictionary.
  int32_t code(Slice text) {
    if (last_ >= 0 && same(texts_[static_cast<size_t>(last_)], text)) return last_;
    bool added;
    return code(text, hash(text), added);
  }

  // Also tells whether the text was new; then, and only then, it must go on living.
  int32_t code(Slice text, uint64_t hashed, bool& added) {
    size_t slot = place(hashed);
    added = false;
    for (; slots_[slot]; slot = (slot + 1) & (slots_.size() - 1)) {
      const int32_t found = slots_[slot] - 1;
      if (hashes_[static_cast<size_t>(found)] == hashed && same(texts_[static_cast<size_t>(found)], text)) {
        return last_ = found;
      }
    }
    added = true;
    texts_.push_back(text);
    hashes_.push_back(hashed);
    last_ = static_cast<int32_t>(texts_.size()) - 1;
    slots_[slot] = last_ + 1;
    if (texts_.size() * 2 > slots_.size()) grow();
    return last_;
  }

  void move_last(const char* at) { texts_.back().at = at; }
  const std::vector<Slice>& texts() const { return texts_; }

  // Not inlined: with it at each of its places of use, reading is a tenth slower.
  STEPSCOPE_NOINLINE static uint64_t hash(Slice text) {
    const char* p = text.at;
    size_t size = static_cast<size_t>(text.size);
    uint64_t h = size * 0x9e3779b97f4a7c15u;
    if (size < 8) {
      uint64_t word = 0;
      if (size >= 4) word = load4(p) << 32 | load4(p + size - 4);
      else for (size_t i = 0; i < size; ++i) word = word << 8 | static_cast<unsigned char>(p[i]);
      return mix(h ^ word);
    }
    const char* const last = p + size - 8;  // the last word overlaps the one before it
    for (; p + 8 < last; p += 16) {
      h = mix(h ^ load8(p) ^ rotated(load8(p + 8) * 0x9e3779b97f4a7c15u));
    }
    if (p < last) h = mix(h ^ load8(p));
    return mix(h ^ load8(last));
  }

 private:
  std::vector<int32_t> slots_;  // code + 1; a power of two of them
  std::vector<Slice> texts_;
  std::vector<uint64_t> hashes_;
  int32_t last_ = -1;

  static bool same(Slice a, Slice b) {
    return a.size == b.size && (a.size == 0 || std::memcmp(a.at, b.at, static_cast<size_t>(a.size)) == 0);
  }
  static uint64_t mix(uint64_t h) {
    h *= 0xbf58476d1ce4e5b9u;
    return h ^ (h >> 31);
  }
  static uint64_t rotated(uint64_t h) { return h << 32 | h >> 32; }
  static uint64_t load8(const char* at) {
    uint64_t word;
    std::memcpy(&word, at, 8);
    return word;
  }
  static uint64_t load4(const char* at) {
    uint32_t word;
    std::memcpy(&word, at, 4);
    return word;
  }
  size_t place(uint64_t hashed) const { return static_cast<size_t>(hashed ^ (hashed >> 17)) & (slots_.size() - 1); }

  void grow() {
    slots_.assign(slots_.size() * 4, 0);
    for (size_t i = 0; i < hashes_.size(); ++i) {
      size_t slot = place(hashes_[i]);
      while (slots_[slot]) slot = (slot + 1) & (slots_.size() - 1);
      slots_[slot] = static_cast<int32_t>(i) + 1;
    }
  }
};

}  // namespace stepscope

#endif
