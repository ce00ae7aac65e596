#include "kineto_events.h"

#include "numbers.h"

namespace stepscope {
namespace {

// The members of args that are looked at.
struct Known {
  enum Id : int8_t {
    kCorrelation, kExternalId, kOldExternalId, kDeviceNumber, kStream, kBytes, kMemoryBytes, kMemoryDevice,
    kMemoryDeviceType, kIds, kNone = kIds
  };
  Id id;
  int32_t drop;
};

Known known(const char* key, int32_t size) {
  const Slice name{key, size};
#define STEPSCOPE_IS(text) name.is(text, sizeof(text) - 1)
  switch (size) {
    case 5:
      if (STEPSCOPE_IS("bytes")) return {Known::kBytes, kDevice};
      if (STEPSCOPE_IS("Bytes")) return {Known::kMemoryBytes, 0};
      break;
    case 6:
      if (STEPSCOPE_IS("Ev Idx")) return {Known::kNone, kHost | kDevice | kWhole};
      if (STEPSCOPE_IS("stream")) return {Known::kStream, kDevice};
      if (STEPSCOPE_IS("device")) return {Known::kDeviceNumber, kDevice};
      break;
    case 9:
      if (STEPSCOPE_IS("Python id")) return {Known::kNone, kHost | kDevice};
      if (STEPSCOPE_IS("Device Id")) return {Known::kMemoryDevice, 0};
      break;
    case 11:
      if (STEPSCOPE_IS("External id")) return {Known::kExternalId, kHost | kDevice};
      if (STEPSCOPE_IS("correlation")) return {Known::kCorrelation, kHost | kDevice};
      if (STEPSCOPE_IS("external id")) return {Known::kOldExternalId, kHost | kDevice};
      if (STEPSCOPE_IS("external ts")) return {Known::kNone, kHost | kDevice};
      if (STEPSCOPE_IS("Device Type")) return {Known::kMemoryDeviceType, 0};
      break;
    case 16:
      if (STEPSCOPE_IS("Python parent id")) return {Known::kNone, kHost | kDevice};
      break;
    case 18:
      if (STEPSCOPE_IS("Record function id")) return {Known::kNone, kHost | kDevice};
      break;
    case 20:
      if (STEPSCOPE_IS("Profiler Event Index")) return {Known::kNone, kHost | kDevice};
      break;
    case 23:
      if (STEPSCOPE_IS("memory bandwidth (GB/s)")) return {Known::kNone, kDevice};
      break;
    default: break;
  }
#undef STEPSCOPE_IS
  return {Known::kNone, 0};
}

struct Event {
  Slice phase, category, name, pid, tid, ts, dur, args;
  Slice ids[Known::kIds];
  bool is_memory, odd_args, collective;
};

class Reader {
 public:
  Reader(const char* origin, const char* begin, const char* end, const int8_t* phases, Columns& out)
      : origin_(origin), cursor_(begin, end), phases_(phases), out_(out) {}

  bool read() {
    out_.first_member.push_back(0);
    cursor_.space();
    while (!cursor_.at_end()) {
      if (!event() || !add()) return false;
      cursor_.space();
      if (cursor_.at_end()) return true;
      if (!cursor_.take(',')) return false;
      cursor_.space();
    }
    return true;
  }

 private:
  const char* const origin_;
  Cursor cursor_;
  const int8_t* const phases_;
  Columns& out_;
  Event event_;
  size_t first_member_ = 0;

  int32_t offset(const char* at) const { return static_cast<int32_t>(at - origin_); }

  bool event() {
    event_ = Event();
    first_member_ = out_.members.size();
    if (!cursor_.take('{')) return false;
    cursor_.space();
    if (cursor_.take('}')) return true;
    for (;;) {
      const char* key = cursor_.p + 1;
      cursor_.saw_escape = false;
      if (!cursor_.string() || cursor_.saw_escape) return false;
      const int32_t size = static_cast<int32_t>(cursor_.p - 1 - key);
      cursor_.space();
      if (!cursor_.take(':')) return false;
      cursor_.space();
      if (!member(key, size)) return false;
      cursor_.space();
      if (cursor_.take('}')) return true;
      if (!cursor_.take(',')) return false;
      cursor_.space();
    }
  }

  bool member(const char* key, int32_t size) {
    Slice unused;
    Slice* to = &unused;
    const Slice name{key, size};
    switch (size) {
      case 2:
        if (name.is("ph", 2)) to = &event_.phase;
        else if (name.is("ts", 2)) to = &event_.ts;
        break;
      case 3:
        if (name.is("dur", 3)) to = &event_.dur;
        else if (name.is("pid", 3)) to = &event_.pid;
        else if (name.is("tid", 3)) to = &event_.tid;
        else if (name.is("cat", 3)) to = &event_.category;
        break;
      case 4:
        if (name.is("name", 4)) to = &event_.name;
        else if (name.is("args", 4)) return args();
        break;
      default: break;
    }
    return cursor_.value(*to);
  }

  bool args() {
    // Of two members of one name the last counts.
    out_.members.resize(first_member_);
    for (Slice& id : event_.ids) id = Slice();
    event_.is_memory = event_.odd_args = event_.collective = false;
    cursor_.saw_brace = cursor_.saw_collective = false;
    const char* begin = cursor_.p;
    if (cursor_.is('{')) {
      if (!args_object()) return false;
      event_.args = cursor_.slice(begin);
      event_.odd_args |= cursor_.saw_brace && nests_objects(event_.args);
    } else {
      if (!cursor_.value(event_.args)) return false;
      event_.odd_args = !event_.args.is("null", 4);
    }
    event_.collective = cursor_.saw_collective;
    return true;
  }

  bool args_object() {
    cursor_.take('{');
    cursor_.space();
    if (cursor_.take('}')) return true;
    for (;;) {
      const char* key = cursor_.p;
      cursor_.saw_escape = false;
      if (!cursor_.string()) return false;
      cursor_.note_collective(key);
      event_.odd_args |= cursor_.saw_escape;
      const Known what = known(key + 1, static_cast<int32_t>(cursor_.p - key) - 2);
      cursor_.space();
      if (!cursor_.take(':')) return false;
      cursor_.space();
      const char first = cursor_.at_end() ? '\0' : *cursor_.p;
      cursor_.saw_escape = false;
      Slice value;
      if (!cursor_.value(value)) return false;
      const bool is_scalar = first != '{' && first != '[' && !cursor_.saw_escape;
      if (what.id != Known::kNone) {
        event_.ids[what.id] = value;
        event_.is_memory |= what.id >= Known::kMemoryBytes;
      }
      cursor_.space();
      const bool more = cursor_.take(',');
      if (more) cursor_.space();
      if (what.drop && is_scalar) out_.members.push_back({offset(key), offset(cursor_.p), what.drop});
      if (!more) return cursor_.take('}');
    }
  }

  // Whether the args hold a further object with members, as text_columns.nests_objects tells it by the text.
  static bool nests_objects(Slice text) {
    const char* const end = text.at + text.size;
    for (const char* p = text.at + 1; p < end; ++p) {
      if (*p != '{') continue;
      const char* before = p - 1;
      while (before > text.at && is_blank(*before)) --before;
      const char* after = p + 1;
      while (after < end && is_blank(*after)) ++after;
      if ((*before == ':' || *before == '[' || *before == ',') && after < end && *after == '"') return true;
    }
    return false;
  }

  static bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == '\f'; }

  bool add() {
    ++out_.seen;
    int8_t phase = kMissing;
    if (event_.phase.size == 3 && event_.phase.at[0] == '"') {
      const unsigned char letter = static_cast<unsigned char>(event_.phase.at[1]);
      if (letter >= 0x7f) return false;
      phase = phases_[letter];
    } else if (event_.phase.size && !event_.phase.is("null", 4) && !event_.phase.is("\"\"", 2)) {
      return false;
    }
    if (phase <= kCounter) return add_row(phase);
    out_.members.resize(first_member_);
    if (phase == kMetadata) out_.metadata.push_back({event_.name, event_.pid, event_.tid, event_.args});
    out_.missing += phase == kMissing;
    out_.other += phase == kOther;
    return true;
  }

  bool add_row(int8_t phase) {
    const int32_t row = static_cast<int32_t>(out_.phase.size());
    int64_t values[Known::kIds];
    if (!event_.odd_args) {
      for (int i = 0; i < Known::kIds; ++i) event_.odd_args |= !integer(event_.ids[i], values[i]);
    }
    if (event_.odd_args) {
      for (int64_t& value : values) value = -1;
      out_.members.resize(first_member_);
    }
    if (event_.is_memory && !event_.odd_args) {
      out_.memory.push_back(
          {row, values[Known::kMemoryBytes], values[Known::kMemoryDevice], values[Known::kMemoryDeviceType]});
    }
    uint8_t flags = static_cast<uint8_t>((event_.odd_args ? kOddArgs : 0) | (event_.collective ? kCollective : 0));
    int64_t ts = 0, dur = 0;
    if (event_.ts.size) {
      if (thousandths(event_.ts, ts)) flags |= kHasTs;
      else out_.odd.push_back({row, 0, event_.ts});
    }
    if (event_.dur.size) {
      if (thousandths(event_.dur, dur)) flags |= kHasDur;
      else out_.odd.push_back({row, 1, event_.dur});
    }
    out_.phase.push_back(phase);
    out_.flags.push_back(flags);
    out_.ts.push_back(ts);
    out_.dur.push_back(dur);
    out_.category.push_back(out_.categories.code(event_.category));
    out_.name.push_back(out_.names.code(event_.name));
    out_.pid.push_back(out_.pids.code(event_.pid));
    out_.tid.push_back(out_.tids.code(event_.tid));
    out_.correlation.push_back(values[Known::kCorrelation]);
    const int64_t external = values[Known::kExternalId];
    out_.external_id.push_back(external != -1 ? external : values[Known::kOldExternalId]);
    out_.device.push_back(values[Known::kDeviceNumber]);
    out_.stream.push_back(values[Known::kStream]);
    out_.bytes.push_back(values[Known::kBytes]);
    out_.args_begin.push_back(event_.args.size ? offset(event_.args.at) : 0);
    out_.args_size.push_back(event_.args.size);
    out_.first_member.push_back(static_cast<int32_t>(out_.members.size()));
    return true;
  }
};

}  // namespace

bool read_events(const char* origin, const char* begin, const char* end, const int8_t* phases, Columns& out) {
  return Reader(origin, begin, end, phases, out).read();
}

void drop_members(const char* origin, const int32_t* args_begin, const int32_t* args_size, const int32_t* first_member,
                  const Member* members, const int32_t* rows, const uint8_t* drop, size_t count, Rests& out) {
  std::vector<char> rest;
  out.codes.reserve(count);
  const size_t ahead = 16;
  for (size_t i = 0; i < count; ++i) {
    const int32_t row = rows[i];
    if (i + ahead < count) {  // the text is not in the cache any more, and to wait for it took more than half of the time
      const char* const coming = origin + args_begin[rows[i + ahead]];
      for (int line = 0; line < 3; ++line) prefetch(coming + 64 * line);
    }
    const Member* member = members + first_member[row];
    const Member* const last = members + first_member[row + 1];
    const bool absent = args_size[row] == 0;
    const char* from = absent ? "null" : origin + args_begin[row];
    const char* const end = from + (absent ? 4 : args_size[row]);
    if (rest.size() < static_cast<size_t>(end - from)) rest.resize(2 * static_cast<size_t>(end - from));
    char* to = rest.data();
    for (; member != last; ++member) {
      if (!(member->drop & drop[i])) continue;
      const size_t size = static_cast<size_t>(origin + member->begin - from);
      std::memcpy(to, from, size);
      to += size;
      from = origin + member->end;
    }
    std::memcpy(to, from, static_cast<size_t>(end - from));
    to += end - from;
    const Slice text{rest.data(), static_cast<int32_t>(to - rest.data())};
    bool added;
    out.codes.push_back(out.texts.code(text, Dictionary::hash(text), added));
    if (added) {
      out.kept.emplace_back(new char[static_cast<size_t>(text.size) + 1]);
      std::memcpy(out.kept.back().get(), text.at, static_cast<size_t>(text.size));
      out.texts.move_last(out.kept.back().get());
    }
  }
}

}  // namespace stepscope
