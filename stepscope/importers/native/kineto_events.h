// A stretch of a list of Chrome trace events as columns, and the rest of their args as a dictionary.
#ifndef STEPSCOPE_KINETO_EVENTS_H
#define STEPSCOPE_KINETO_EVENTS_H

#include <memory>
#include <vector>

#include "dictionary.h"

namespace stepscope {

// What an event is; the numbers are those of kineto.py. Up to kCounter it becomes a row.
enum Phase : int8_t { kCounter = 4, kMetadata = 5, kFlow = 6, kOther = 7, kMissing = 8 };

enum Flag : uint8_t {
  kHasTs = 1,
  kHasDur = 2,
  kCollective = 4,  // the args hold a string "Collective name"
  kOddArgs = 8,     // ids and rest of the args are left to Python
};

// For whom a member of the args is no argument: a host event, a device event, one that keeps its ids.
enum Drop : int32_t { kHost = 1, kDevice = 2, kWhole = 4 };

// A member of an args object that may be dropped: [begin, end) in the text, and a set of Drop.
struct Member {
  int32_t begin, end, drop;
};

struct OddNumber {
  int32_t row, is_dur;
  Slice text;
};

struct Described {
  Slice name, pid, tid, args;
};

struct MemoryArgs {
  int64_t row, bytes, device, device_type;
};

struct Columns {
  int64_t seen = 0, missing = 0, other = 0;
  std::vector<int8_t> phase;
  std::vector<uint8_t> flags;
  std::vector<int64_t> ts, dur, correlation, external_id, device, stream, bytes;
  std::vector<int32_t> category, name, pid, tid;
  Dictionary categories, names, pids, tids;
  std::vector<int32_t> args_begin, args_size, first_member;
  std::vector<Member> members;
  std::vector<MemoryArgs> memory;
  std::vector<OddNumber> odd;
  std::vector<Described> metadata;

  // Forget all rows; their memory is kept, since to get it anew from the system takes a tenth of the time of a scan.
  void clear() {
    seen = missing = other = 0;
    phase.clear();
    flags.clear();
    for (auto* column : {&ts, &dur, &correlation, &external_id, &device, &stream, &bytes}) column->clear();
    for (auto* column : {&category, &name, &pid, &tid, &args_begin, &args_size, &first_member}) column->clear();
    for (auto* dictionary : {&categories, &names, &pids, &tids}) *dictionary = Dictionary();
    members.clear();
    memory.clear();
    odd.clear();
    metadata.clear();
  }
};

// Read the events in [begin, end) of a text that begins at `origin`. False if anything is not strictly valid
// or too odd; the columns are then of no use.
bool read_events(const char* origin, const char* begin, const char* end, const int8_t* phases, Columns& out);

// The rest of the args of some rows: for each its code, and the distinct texts.
struct Rests {
  std::vector<int32_t> codes;
  Dictionary texts;
  std::vector<std::unique_ptr<char[]>> kept;
};

void drop_members(const char* origin, const int32_t* args_begin, const int32_t* args_size, const int32_t* first_member,
                  const Member* members, const int32_t* rows, const uint8_t* drop, size_t count, Rests& out);

}  // namespace stepscope

#endif
