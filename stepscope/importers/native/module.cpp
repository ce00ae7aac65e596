// The Python module stepscope.importers._kineto_scan: `scan` and `drop_members` over bytes, by the stable ABI.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <new>

#include "kineto_events.h"

namespace {

using stepscope::Columns;
using stepscope::Dictionary;
using stepscope::Slice;

// Collects new references; a null among them, which has set an exception, makes the result null.
class Tuple {
 public:
  Tuple() : items_(PyList_New(0)) {}
  ~Tuple() { Py_XDECREF(items_); }
  Tuple(const Tuple&) = delete;
  Tuple& operator=(const Tuple&) = delete;

  void add(PyObject* item) {
    failed_ = failed_ || items_ == nullptr || item == nullptr || PyList_Append(items_, item) != 0;
    Py_XDECREF(item);
  }
  template <class T>
  void add(const std::vector<T>& column) {
    if (failed_) return;
    add(PyBytes_FromStringAndSize(reinterpret_cast<const char*>(column.data()),
                                  static_cast<Py_ssize_t>(column.size() * sizeof(T))));
  }
  PyObject* result() { return failed_ || items_ == nullptr ? nullptr : PyList_AsTuple(items_); }

 private:
  PyObject* items_;
  bool failed_ = false;
};

PyObject* as_bytes(Slice text) { return PyBytes_FromStringAndSize(text.size ? text.at : "", text.size); }

// A list of `items`, each made a Python object by `make`.
template <class Items, class Make>
PyObject* as_list(const Items& items, Make make) {
  PyObject* list = PyList_New(static_cast<Py_ssize_t>(items.size()));
  if (list == nullptr) return nullptr;
  Py_ssize_t at = 0;
  for (const auto& item : items) {
    PyObject* made = make(item);
    if (made == nullptr || PyList_SetItem(list, at++, made) != 0) {
      Py_DECREF(list);
      return nullptr;
    }
  }
  return list;
}

PyObject* as_list(const Dictionary& dictionary) { return as_list(dictionary.texts(), as_bytes); }

PyObject* as_tuple(const Columns& columns) {
  Tuple out;
  out.add(PyLong_FromLongLong(columns.seen));
  out.add(PyLong_FromLongLong(columns.missing));
  out.add(PyLong_FromLongLong(columns.other));
  out.add(as_list(columns.metadata, [](const stepscope::Described& event) {
    Tuple members;
    for (Slice text : {event.name, event.pid, event.tid, event.args}) members.add(as_bytes(text));
    return members.result();
  }));
  out.add(as_list(columns.odd, [](const stepscope::OddNumber& odd) {
    Tuple members;
    members.add(PyLong_FromLong(odd.row));
    members.add(PyLong_FromLong(odd.is_dur));
    members.add(as_bytes(odd.text));
    return members.result();
  }));
  out.add(columns.phase);
  out.add(columns.flags);
  out.add(columns.ts);
  out.add(columns.dur);
  out.add(columns.category);
  out.add(as_list(columns.categories));
  out.add(columns.name);
  out.add(as_list(columns.names));
  out.add(columns.pid);
  out.add(as_list(columns.pids));
  out.add(columns.tid);
  out.add(as_list(columns.tids));
  out.add(columns.correlation);
  out.add(columns.external_id);
  out.add(columns.device);
  out.add(columns.stream);
  out.add(columns.bytes);
  out.add(columns.memory);
  Tuple args;
  args.add(columns.args_begin);
  args.add(columns.args_size);
  args.add(columns.first_member);
  args.add(columns.members);
  out.add(args.result());
  return out.result();
}

PyObject* scan(PyObject*, PyObject* arguments) {
  const char* text;
  const char* phases;
  Py_ssize_t size, begin, end, phases_size;
  if (!PyArg_ParseTuple(arguments, "y#nny#", &text, &size, &begin, &end, &phases, &phases_size)) return nullptr;
  if (begin < 0 || begin > end || end > size || size > INT32_MAX || phases_size != 128) {
    PyErr_SetString(PyExc_ValueError, "a stretch inside less than 2 GiB of text and a table of 128 phases are wanted");
    return nullptr;
  }
  bool valid = false, memory = true;
  thread_local Columns kept;
  Columns* const columns = &kept;
  Py_BEGIN_ALLOW_THREADS
  try {
    columns->clear();
    valid = stepscope::read_events(text, text + begin, text + end, reinterpret_cast<const int8_t*>(phases), *columns);
  } catch (const std::bad_alloc&) {
    memory = false;
  }
  Py_END_ALLOW_THREADS
  if (!memory) return PyErr_NoMemory();
  if (!valid) Py_RETURN_NONE;
  return as_tuple(*columns);
}

PyObject* drop_members(PyObject*, PyObject* arguments) {
  const char *text, *begins, *sizes, *firsts, *members, *rows, *drop;
  Py_ssize_t text_size, begins_size, sizes_size, firsts_size, members_size, rows_size, drop_size;
  if (!PyArg_ParseTuple(arguments, "y#(y#y#y#y#)y#y#", &text, &text_size, &begins, &begins_size, &sizes, &sizes_size,
                        &firsts, &firsts_size, &members, &members_size, &rows, &rows_size, &drop, &drop_size)) {
    return nullptr;
  }
  const size_t count = static_cast<size_t>(drop_size);
  const int32_t* row = reinterpret_cast<const int32_t*>(rows);
  bool fits = static_cast<size_t>(rows_size) == count * sizeof(int32_t);
  for (size_t i = 0; fits && i < count; ++i) {
    fits = row[i] >= 0 && row[i] < begins_size / static_cast<Py_ssize_t>(sizeof(int32_t));
  }
  if (!fits) {
    PyErr_SetString(PyExc_ValueError, "one byte for each int32 row inside the block is wanted");
    return nullptr;
  }
  bool memory = true;
  std::unique_ptr<stepscope::Rests> rests;
  Py_BEGIN_ALLOW_THREADS
  try {
    rests.reset(new stepscope::Rests);
    stepscope::drop_members(text, reinterpret_cast<const int32_t*>(begins), reinterpret_cast<const int32_t*>(sizes),
                            reinterpret_cast<const int32_t*>(firsts), reinterpret_cast<const stepscope::Member*>(members),
                            row, reinterpret_cast<const uint8_t*>(drop), count, *rests);
  } catch (const std::bad_alloc&) {
    memory = false;
  }
  Py_END_ALLOW_THREADS
  if (!memory) return PyErr_NoMemory();
  Tuple out;
  out.add(rests->codes);
  out.add(as_list(rests->texts));
  return out.result();
}

PyMethodDef methods[] = {
    {"scan", scan, METH_VARARGS,
     "scan(text, begin, end, phases) -> tuple of columns, or None if the stretch is not strictly valid"},
    {"drop_members", drop_members, METH_VARARGS,
     "drop_members(text, args, rows, drop) -> (codes of the rests as int32, distinct rests)"},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef_Slot slots[] = {{0, nullptr}};

PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_kineto_scan", "Reads stretches of Kineto traces.", 0, methods, slots, nullptr, nullptr,
    nullptr,
};

}  // namespace

PyMODINIT_FUNC PyInit__kineto_scan() { return PyModuleDef_Init(&definition); }
