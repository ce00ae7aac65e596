// Marks: the same as stepscope.marks.PythonMarks, which says what each part is for.
#include <atomic>
#include <new>
#include <utility>
#include <vector>

#include "hot.h"

namespace stepscope {
namespace {

struct Entry {
  PyObject* key;
  int64_t at;
};

// Steps of one pattern with consecutive numbers: the times of their marks, step by step.
struct Chunk {
  PyObject* pattern;
  long long first;
  long long count;
  std::vector<int64_t> times;
};

// One thread that waits, without the GIL, for the awaited mark. Python's own lock, as it is nothing to a forked child.
struct Waiter {
  PyThread_type_lock lock = PyThread_allocate_lock();
  std::atomic<bool> waits{false};

  Waiter() {
    if (lock != nullptr) PyThread_acquire_lock(lock, NOWAIT_LOCK);
  }
  ~Waiter() {
    if (lock != nullptr) PyThread_free_lock(lock);
  }
  void tell() {
    if (waits.load(std::memory_order_relaxed) && waits.exchange(false)) PyThread_release_lock(lock);
  }
  bool wait(double seconds) {
    if (lock == nullptr) return false;
    waits = true;
    const auto microseconds = static_cast<PY_TIMEOUT_T>(seconds * 1e6);
    if (PyThread_acquire_lock_timed(lock, microseconds, 0) == PY_LOCK_ACQUIRED) return true;
    if (waits.exchange(false)) return false;
    PyThread_acquire_lock(lock, WAIT_LOCK);  // the mark came in this moment
    return true;
  }
};

struct State {
  Waiter waiter;
  std::vector<Entry> entries;
  std::vector<PyObject*> expected;
  std::vector<Chunk> chunks;
  PyObject* pattern = nullptr;
  size_t most_times = 0;  // of a chunk that was taken: the next one will need about as much

  // One by one: what a key refers to may run code that comes back here when it goes.
  void clear_entries(size_t from) {
    while (entries.size() > from) {
      PyObject* key = entries.back().key;
      entries.pop_back();
      Py_DECREF(key);
    }
  }
  void clear_pattern() {
    std::vector<PyObject*> keys;
    keys.swap(expected);
    PyObject* old = pattern;
    pattern = nullptr;
    for (PyObject* key : keys) Py_DECREF(key);
    Py_XDECREF(old);
  }
};

struct Marks {
  PyObject_HEAD
  int mode;
  int calm_mode;
  char at_once;
  unsigned long long thread;
  long long sample_ns;
  long long until;
  long long number;
  long long kept;
  long long limit;
  Py_ssize_t most;
  PyObject* awaited;
  State* state;
};

const int SAMPLED = 2;

Marks* as_marks(PyObject* self) { return reinterpret_cast<Marks*>(self); }

bool is_here(const Marks* self) { return self->thread == PyThread_get_thread_ident(); }

// Keys are tuples of a code and a token; those of slow marks are made anew each time.
bool is_same(PyObject* a, PyObject* b) {
  return a == b || (PyTuple_GetItem(a, 0) == PyTuple_GetItem(b, 0) && PyTuple_GetItem(a, 1) == PyTuple_GetItem(b, 1));
}

bool is_key(PyObject* key) {
  if (PyTuple_Check(key) && PyTuple_Size(key) == 2) return true;
  PyErr_SetString(PyExc_TypeError, "a key is a tuple of a code and a token");
  return false;
}

bool push(Marks* self, PyObject* key, int64_t at) {
  try {
    self->state->entries.push_back({key, at});
  } catch (const std::bad_alloc&) {
    return false;
  }
  Py_INCREF(key);
  if (key == self->awaited) self->state->waiter.tell();
  return true;
}

void sampled(Marks* self, int64_t since) {
  if (self->mode == SAMPLED) self->sample_ns += now_ns() - since;
}

PyObject* put(PyObject* object, PyObject* arguments) {
  PyObject* key;
  long long at;
  if (!PyArg_ParseTuple(arguments, "OL", &key, &at) || !is_key(key)) return nullptr;
  if (!push(as_marks(object), key, at)) return PyErr_NoMemory();
  Py_RETURN_NONE;
}

// True once it is marked, False where there is no room; nullptr where it is no key.
PyObject* mark_now(Marks* self, PyObject* key) {
  if (!is_key(key)) return nullptr;
  const int64_t now = now_ns();
  if (!push(self, key, now)) Py_RETURN_FALSE;
  sampled(self, now);
  Py_RETURN_TRUE;
}

PyObject* begin(PyObject* object, PyObject* key) {
  Marks* self = as_marks(object);
  if (!self->mode || !is_here(self)) Py_RETURN_FALSE;
  return mark_now(self, key);
}

PyObject* end(PyObject* object, PyObject* key) {
  Marks* self = as_marks(object);
  if (!self->mode || static_cast<Py_ssize_t>(self->state->entries.size()) >= self->most) Py_RETURN_FALSE;
  return mark_now(self, key);
}

PyObject* end_step(PyObject* object, PyObject* key) {
  Marks* self = as_marks(object);
  if (!self->mode || !is_here(self)) Py_RETURN_FALSE;
  PyObject* marked = mark_now(self, key);
  if (marked == Py_True) {
    self->at_once = 1;
    self->mode = 0;
  }
  return marked;
}

bool is_regular(const Marks* self) {
  const State& state = *self->state;
  const size_t count = state.entries.size();
  if (state.pattern == nullptr || count + 1 != state.expected.size()) return false;
  if (self->number >= self->until || self->kept >= self->limit) return false;
  for (size_t i = 0; i < count; ++i)
    if (!is_same(state.entries[i].key, state.expected[i])) return false;
  return true;
}

bool keep(Marks* self, int64_t now) {
  State& state = *self->state;
  try {
    if (state.chunks.empty() || state.chunks.back().pattern != state.pattern ||
        state.chunks.back().first + state.chunks.back().count != self->number) {
      state.chunks.push_back({state.pattern, self->number, 0, {}});
      Py_INCREF(state.pattern);
      state.chunks.back().times.reserve(state.most_times);
    }
    std::vector<int64_t>& times = state.chunks.back().times;
    if (times.capacity() - times.size() < state.entries.size() + 1)
      times.reserve(2 * times.capacity() + state.entries.size() + 1);
    for (const Entry& entry : state.entries) times.push_back(entry.at);
    times.push_back(now);
  } catch (const std::bad_alloc&) {
    return false;
  }
  ++state.chunks.back().count;
  ++self->kept;
  return true;
}

PyObject* next_step(PyObject* object, PyObject* const* arguments, Py_ssize_t count) {
  Marks* self = as_marks(object);
  if (self->state->pattern == nullptr || !is_here(self) || !is_regular(self)) return PyLong_FromLong(0);
  const int64_t now = count ? PyLong_AsLongLong(arguments[0]) : now_ns();
  if (now == -1 && PyErr_Occurred()) return nullptr;
  if (!keep(self, now)) return PyLong_FromLong(0);
  self->state->clear_entries(1);  // the mark that a step begins with is the one that the step before it ended with
  self->state->entries[0].at = now;
  self->at_once = 0;
  self->mode = self->calm_mode;
  ++self->number;
  sampled(self, now);
  return PyLong_FromLongLong(self->number);
}

PyObject* expect(PyObject* object, PyObject* arguments) {
  PyObject *pattern, *keys;
  long long number;
  if (!PyArg_ParseTuple(arguments, "OO!L", &pattern, &PyList_Type, &keys, &number)) return nullptr;
  Marks* self = as_marks(object);
  State& state = *self->state;
  const Py_ssize_t count = PyList_Size(keys);
  for (Py_ssize_t i = 0; i < count; ++i)
    if (!is_key(PyList_GetItem(keys, i))) return nullptr;
  if (count < 2 || !is_same(PyList_GetItem(keys, 0), PyList_GetItem(keys, count - 1))) {
    state.clear_pattern();
    Py_RETURN_NONE;
  }
  std::vector<PyObject*> expected;
  try {
    expected.reserve(count);
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  }
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* key = PyList_GetItem(keys, i);
    Py_INCREF(key);
    expected.push_back(key);
  }
  Py_INCREF(pattern);
  // All is in place before the former goes: what that refers to may run code that comes back here.
  expected.swap(state.expected);
  std::swap(pattern, state.pattern);
  self->number = number;
  for (PyObject* key : expected) Py_DECREF(key);
  Py_XDECREF(pattern);
  Py_RETURN_NONE;
}

PyObject* forget(PyObject* object, PyObject*) {
  as_marks(object)->state->clear_pattern();
  Py_RETURN_NONE;
}

PyObject* clear(PyObject* object, PyObject*) {
  as_marks(object)->state->clear_entries(0);
  Py_RETURN_NONE;
}

PyObject* wait(PyObject* object, PyObject* timeout) {
  const double seconds = PyFloat_AsDouble(timeout);
  if (seconds == -1.0 && PyErr_Occurred()) return nullptr;
  bool came;
  Py_BEGIN_ALLOW_THREADS;
  came = as_marks(object)->state->waiter.wait(seconds);
  Py_END_ALLOW_THREADS;
  return PyBool_FromLong(came);
}

PyObject* entries(PyObject* object, PyObject*) {
  PyObject* list = PyList_New(0);
  if (list == nullptr) return nullptr;
  for (const Entry& entry : as_marks(object)->state->entries) {
    PyObject* time = PyLong_FromLongLong(entry.at);
    const bool failed = time == nullptr || PyList_Append(list, entry.key) != 0 || PyList_Append(list, time) != 0;
    Py_XDECREF(time);
    if (failed) {
      Py_DECREF(list);
      return nullptr;
    }
  }
  return list;
}

PyObject* take(PyObject* object, PyObject*) {
  Marks* self = as_marks(object);
  State& state = *self->state;
  std::vector<Chunk> chunks;
  chunks.swap(state.chunks);
  self->kept = 0;
  PyObject* list = PyList_New(0);
  for (const Chunk& chunk : chunks) {
    if (chunk.count == 0) {  // there was no memory for its first step
      Py_DECREF(chunk.pattern);
      continue;
    }
    if (chunk.times.size() > state.most_times && chunk.times.size() < (1u << 16)) state.most_times = chunk.times.size();
    PyObject* item = list == nullptr ? nullptr
                                     : Py_BuildValue("OLy#", chunk.pattern, chunk.first,
                                                     reinterpret_cast<const char*>(chunk.times.data()),
                                                     static_cast<Py_ssize_t>(chunk.times.size() * sizeof(int64_t)));
    if (item == nullptr || PyList_Append(list, item) != 0) Py_CLEAR(list);
    Py_XDECREF(item);
    Py_DECREF(chunk.pattern);
  }
  return list;
}

Py_ssize_t length(PyObject* object) { return 2 * static_cast<Py_ssize_t>(as_marks(object)->state->entries.size()); }

PyObject* make(PyTypeObject* type, PyObject*, PyObject*) {
  PyObject* object = reinterpret_cast<allocfunc>(PyType_GetSlot(type, Py_tp_alloc))(type, 0);
  if (object == nullptr) return nullptr;
  Marks* self = as_marks(object);
  self->state = new (std::nothrow) State;
  self->most = 256;
  self->limit = 200000;
  if (self->state == nullptr) {
    Py_DECREF(object);
    return PyErr_NoMemory();
  }
  return object;
}

int traverse(PyObject* object, visitproc visit, void* arg) {
  const State* state = as_marks(object)->state;
  Py_VISIT(reinterpret_cast<PyObject*>(Py_TYPE(object)));
  Py_VISIT(as_marks(object)->awaited);
  if (state == nullptr) return 0;
  for (const Entry& entry : state->entries) Py_VISIT(entry.key);
  for (PyObject* key : state->expected) Py_VISIT(key);
  for (const Chunk& chunk : state->chunks) Py_VISIT(chunk.pattern);
  Py_VISIT(state->pattern);
  return 0;
}

int clear_references(PyObject* object) {
  Py_CLEAR(as_marks(object)->awaited);
  State* state = as_marks(object)->state;
  if (state == nullptr) return 0;
  std::vector<Entry> entries;
  std::vector<Chunk> chunks;
  entries.swap(state->entries);
  chunks.swap(state->chunks);
  for (const Entry& entry : entries) Py_DECREF(entry.key);
  for (const Chunk& chunk : chunks) Py_DECREF(chunk.pattern);
  state->clear_pattern();
  return 0;
}

void dealloc(PyObject* object) {
  PyObject_GC_UnTrack(object);
  clear_references(object);
  delete as_marks(object)->state;
  free_object(object);
}

PyMethodDef methods[] = {
    {"put", as_method(put), METH_VARARGS, nullptr},
    {"begin", as_method(begin), METH_O, nullptr},
    {"end", as_method(end), METH_O, nullptr},
    {"end_step", as_method(end_step), METH_O, nullptr},
    {"next_step", as_method(next_step), METH_FASTCALL, nullptr},
    {"expect", as_method(expect), METH_VARARGS, nullptr},
    {"forget", as_method(forget), METH_NOARGS, nullptr},
    {"clear", as_method(clear), METH_NOARGS, nullptr},
    {"wait", as_method(wait), METH_O, nullptr},
    {"entries", as_method(entries), METH_NOARGS, nullptr},
    {"take", as_method(take), METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyMemberDef members[] = {
    {"mode", T_INT, offsetof(Marks, mode), 0, nullptr},
    {"calm_mode", T_INT, offsetof(Marks, calm_mode), 0, nullptr},
    {"at_once", T_BOOL, offsetof(Marks, at_once), 0, nullptr},
    {"thread", T_ULONGLONG, offsetof(Marks, thread), 0, nullptr},
    {"sample_ns", T_LONGLONG, offsetof(Marks, sample_ns), 0, nullptr},
    {"until", T_LONGLONG, offsetof(Marks, until), 0, nullptr},
    {"limit", T_LONGLONG, offsetof(Marks, limit), 0, nullptr},
    {"awaited", T_OBJECT, offsetof(Marks, awaited), 0, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

PyType_Slot slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(make)},
    {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
    {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(clear_references)},
    {Py_tp_methods, methods},
    {Py_tp_members, members},
    {Py_sq_length, reinterpret_cast<void*>(length)},
    {0, nullptr},
};

PyType_Spec spec = {"stepscope._hot.Marks", sizeof(Marks), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, slots};

}  // namespace

bool add_marks(PyObject* module) {
  PyObject* type = add_type(module, "Marks", &spec);
  Py_XDECREF(type);
  return type != nullptr;
}

}  // namespace stepscope
