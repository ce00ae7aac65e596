// Looks at 16 bytes at once, by SSE2 or NEON where the compiler has one of them; elsewhere every loop that
// uses it falls through to its bytewise part.
#ifndef STEPSCOPE_BYTES16_H
#define STEPSCOPE_BYTES16_H

#include <cstdint>
#include <cstring>

#if defined(STEPSCOPE_NO_SIMD)
#elif defined(__SSE2__) || defined(_M_X64)
#include <emmintrin.h>
#define STEPSCOPE_SSE2 1
#elif defined(__ARM_NEON) && defined(__aarch64__)
#include <arm_neon.h>
#define STEPSCOPE_NEON 1
#endif

#if defined(_MSC_VER)
#include <intrin.h>
#endif

namespace stepscope {

inline int trailing_zeros(uint64_t bits) {
#if defined(_MSC_VER)
  unsigned long index;
  _BitScanForward64(&index, bits);
  return static_cast<int>(index);
#else
  return __builtin_ctzll(bits);
#endif
}

// Have the memory at an address brought near, where the compiler can say so.
inline void prefetch(const char* at) {
#if defined(_MSC_VER)
  (void)at;
#else
  __builtin_prefetch(at);
#endif
}

#if defined(STEPSCOPE_SSE2)

#define STEPSCOPE_BYTES16 1
// One bit for each byte.
typedef uint32_t Mask;
inline int first_of(Mask mask) { return trailing_zeros(mask); }

struct Bytes16 {
  __m128i v;
  explicit Bytes16(const char* at) : v(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at))) {}
  __m128i is(char c) const { return _mm_cmpeq_epi8(v, _mm_set1_epi8(c)); }
  static Mask mask(__m128i m) { return static_cast<Mask>(_mm_movemask_epi8(m)); }

  // Quotes, backslashes, control characters and opening braces: what ends a run of plain characters in a string.
  Mask special() const {
    const __m128i control = _mm_cmpeq_epi8(_mm_min_epu8(v, _mm_set1_epi8(0x1f)), v);
    return mask(_mm_or_si128(_mm_or_si128(control, is('{')), _mm_or_si128(is('"'), is('\\'))));
  }
  Mask not_space() const {
    const __m128i space = _mm_or_si128(_mm_or_si128(is(' '), is('\n')), _mm_or_si128(is('\r'), is('\t')));
    return mask(space) ^ 0xffffu;
  }
};

#elif defined(STEPSCOPE_NEON)

#define STEPSCOPE_BYTES16 1
// Four bits for each byte: NEON has no movemask, but a narrowing shift comes close.
typedef uint64_t Mask;
inline int first_of(Mask mask) { return trailing_zeros(mask) >> 2; }

struct Bytes16 {
  uint8x16_t v;
  explicit Bytes16(const char* at) : v(vld1q_u8(reinterpret_cast<const uint8_t*>(at))) {}
  uint8x16_t is(char c) const { return vceqq_u8(v, vdupq_n_u8(static_cast<uint8_t>(c))); }
  static Mask mask(uint8x16_t m) {
    return vget_lane_u64(vreinterpret_u64_u8(vshrn_n_u16(vreinterpretq_u16_u8(m), 4)), 0);
  }

  Mask special() const {
    const uint8x16_t control = vcltq_u8(v, vdupq_n_u8(0x20));
    return mask(vorrq_u8(vorrq_u8(control, is('{')), vorrq_u8(is('"'), is('\\'))));
  }
  Mask not_space() const {
    return ~mask(vorrq_u8(vorrq_u8(is(' '), is('\n')), vorrq_u8(is('\r'), is('\t'))));
  }
};

#endif

}  // namespace stepscope

#endif
