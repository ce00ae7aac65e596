// Region and Spans: what ``stepscope.annotate`` does in Python where this was not built.
#include <new>
#include <vector>

#include "hot.h"

namespace stepscope {
namespace {

struct Span {
  PyObject* name;
  int64_t numbers[4];  // start, duration, step, thread
};

// The regions that ended, for the writer thread to take.
struct Spans {
  PyObject_HEAD
  long long limit;
  long long dropped;
  std::vector<Span>* spans;
};

struct Open {
  unsigned long thread;
  PyObject* scope;  // of the framework's profiler; null outside deep windows
  PyObject* recorder;
  int64_t start;
};

struct Region {
  PyObject_HEAD
  PyObject* name;
  bool is_first_open;
  Open first;               // nearly always the only one
  std::vector<Open>* more;  // opened while the first was: by recursion or by another thread
};

PyTypeObject* spans_type = nullptr;
PyObject* recorder_names = nullptr;  // the variables of stepscope.recorder: ``active`` and ``mirror`` are read there
PyObject* enter_mirror = nullptr;
PyObject* exit_mirror = nullptr;
PyObject *active_text, *mirror_text, *enabled_text, *regions_text, *step_text;

// Threads keep their native ids; a fork makes them all wrong.
int forks = 0;
thread_local int id_forks = -1;
thread_local int64_t id = 0;

int64_t thread_id() {
  if (id_forks != forks) {
    id = static_cast<int64_t>(PyThread_get_thread_native_id());
    id_forks = forks;
  }
  return id;
}

Region* as_region(PyObject* self) { return reinterpret_cast<Region*>(self); }
Spans* as_spans(PyObject* self) { return reinterpret_cast<Spans*>(self); }

bool open_region(Region* self, const Open& open) {
  if (!self->is_first_open) {
    self->first = open;
    self->is_first_open = true;
    return true;
  }
  try {
    if (self->more == nullptr) self->more = new std::vector<Open>;
    self->more->push_back(open);
  } catch (const std::bad_alloc&) {
    return false;
  }
  return true;
}

// The latest of this thread, or else of all: a generator that another thread resumes leaves its region there.
bool close_region(Region* self, unsigned long here, Open* closed) {
  if (!self->is_first_open) return false;
  if (self->more != nullptr && !self->more->empty()) {
    std::vector<Open>& more = *self->more;
    size_t place = more.size();
    while (place > 0 && more[place - 1].thread != here) --place;
    if (place == 0 && self->first.thread != here) place = more.size();
    if (place > 0) {
      *closed = more[place - 1];
      more.erase(more.begin() + static_cast<std::ptrdiff_t>(place - 1));
      return true;
    }
    *closed = self->first;
    self->first = more.front();
    more.erase(more.begin());
    return true;
  }
  *closed = self->first;
  self->is_first_open = false;
  return true;
}

void release(Open* open) {
  Py_XDECREF(open->scope);
  Py_XDECREF(open->recorder);
}

// Whether the error that is set concerns us alone; KeyboardInterrupt, say, does not.
bool forget_error() {
  if (PyErr_Occurred() != nullptr && !PyErr_ExceptionMatches(PyExc_Exception)) return false;
  PyErr_Clear();
  return true;
}

PyObject* enter(PyObject* object, PyObject*) {
  Py_INCREF(object);
  if (recorder_names == nullptr) return object;
  PyObject* recorder = PyDict_GetItemWithError(recorder_names, active_text);
  if (recorder == nullptr || recorder == Py_None) return object;
  Py_INCREF(recorder);
  PyObject* scope = nullptr;
  PyObject* mirror = PyDict_GetItemWithError(recorder_names, mirror_text);
  if (mirror != nullptr && mirror != Py_None) {
    scope = PyObject_CallFunctionObjArgs(enter_mirror, as_region(object)->name, nullptr);
    if (scope == Py_None) Py_CLEAR(scope);
    if (!forget_error()) {
      Py_DECREF(recorder);
      Py_DECREF(object);
      return nullptr;
    }
  }
  Open open = {PyThread_get_thread_ident(), scope, recorder, now_ns()};
  if (!open_region(as_region(object), open)) release(&open);
  return object;
}

void keep(PyObject* recorder, PyObject* name, int64_t start, int64_t end) {
  PyObject* enabled = PyObject_GetAttr(recorder, enabled_text);
  PyObject* kept = enabled == Py_True ? PyObject_GetAttr(recorder, regions_text) : nullptr;
  if (kept != nullptr && Py_TYPE(kept) == spans_type) {
    Spans* self = as_spans(kept);
    PyObject* number = PyObject_GetAttr(recorder, step_text);
    const long long step = number == nullptr ? -1 : PyLong_AsLongLong(number);
    Py_XDECREF(number);
    if (static_cast<long long>(self->spans->size()) >= self->limit) {
      ++self->dropped;
    } else {
      try {
        self->spans->push_back({name, {start, end - start, step, thread_id()}});
        Py_INCREF(name);
      } catch (const std::bad_alloc&) {
        ++self->dropped;
      }
    }
  }
  Py_XDECREF(enabled);
  Py_XDECREF(kept);
  PyErr_Clear();
}

PyObject* leave(PyObject* object, PyObject* const*, Py_ssize_t) {
  const int64_t end = now_ns();
  Region* self = as_region(object);
  const unsigned long here = PyThread_get_thread_ident();
  Open open;
  if (!close_region(self, here, &open)) Py_RETURN_NONE;
  bool is_well = true;
  if (open.scope != nullptr && open.thread == here) {
    PyObject* done = PyObject_CallFunctionObjArgs(exit_mirror, open.scope, nullptr);
    Py_XDECREF(done);
    is_well = forget_error();
  }
  if (is_well) keep(open.recorder, self->name, open.start, end);
  release(&open);
  if (!is_well) return nullptr;
  Py_RETURN_NONE;
}

PyObject* make_region(PyTypeObject* type, PyObject* arguments, PyObject* keywords) {
  static const char* names[] = {"name", nullptr};
  PyObject* name;
  if (keywords == nullptr && PyTuple_Size(arguments) == 1)
    name = PyTuple_GetItem(arguments, 0);
  else if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O:annotate", const_cast<char**>(names), &name))
    return nullptr;
  PyObject* object = reinterpret_cast<allocfunc>(PyType_GetSlot(type, Py_tp_alloc))(type, 0);
  if (object == nullptr) return nullptr;
  Py_INCREF(name);
  as_region(object)->name = name;
  return object;
}

void free_region(PyObject* object) {
  Region* self = as_region(object);
  if (self->is_first_open) release(&self->first);
  if (self->more != nullptr)
    for (Open& open : *self->more) release(&open);
  delete self->more;
  Py_XDECREF(self->name);
  free_object(object);
}

PyObject* take(PyObject* object, PyObject*) {
  std::vector<Span> spans;
  spans.swap(*as_spans(object)->spans);
  const Py_ssize_t count = static_cast<Py_ssize_t>(spans.size());
  PyObject* names = PyList_New(count);
  PyObject* numbers = PyBytes_FromStringAndSize(nullptr, count * static_cast<Py_ssize_t>(sizeof(Span::numbers)));
  int64_t* at = numbers == nullptr ? nullptr : reinterpret_cast<int64_t*>(PyBytes_AsString(numbers));
  for (Py_ssize_t i = 0; i < count; ++i) {
    const Span& span = spans[static_cast<size_t>(i)];
    for (int column = 0; at != nullptr && column < 4; ++column) at[column * count + i] = span.numbers[column];
    if (names == nullptr)
      Py_DECREF(span.name);
    else
      PyList_SetItem(names, i, span.name);
  }
  PyObject* both = names == nullptr || numbers == nullptr ? nullptr : PyTuple_Pack(2, names, numbers);
  Py_XDECREF(names);
  Py_XDECREF(numbers);
  return both;
}

PyObject* make_spans(PyTypeObject* type, PyObject*, PyObject*) {
  PyObject* object = reinterpret_cast<allocfunc>(PyType_GetSlot(type, Py_tp_alloc))(type, 0);
  if (object == nullptr) return nullptr;
  as_spans(object)->limit = 1000000;
  as_spans(object)->spans = new (std::nothrow) std::vector<Span>;
  if (as_spans(object)->spans == nullptr) {
    Py_DECREF(object);
    return PyErr_NoMemory();
  }
  return object;
}

void free_spans(PyObject* object) {
  std::vector<Span>* spans = as_spans(object)->spans;
  if (spans != nullptr)
    for (const Span& span : *spans) Py_DECREF(span.name);
  delete spans;
  free_object(object);
}

Py_ssize_t count_spans(PyObject* object) { return static_cast<Py_ssize_t>(as_spans(object)->spans->size()); }

PyObject* connect(PyObject*, PyObject* arguments) {
  PyObject *names, *on_enter, *on_exit;
  if (!PyArg_ParseTuple(arguments, "O!OO", &PyDict_Type, &names, &on_enter, &on_exit)) return nullptr;
  Py_INCREF(names);
  Py_INCREF(on_enter);
  Py_INCREF(on_exit);
  recorder_names = names;
  enter_mirror = on_enter;
  exit_mirror = on_exit;
  Py_RETURN_NONE;
}

PyObject* forget_threads(PyObject*, PyObject*) {
  ++forks;
  Py_RETURN_NONE;
}

PyMethodDef region_methods[] = {
    {"__enter__", as_method(enter), METH_NOARGS, nullptr},
    {"__exit__", as_method(leave), METH_FASTCALL, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyMemberDef region_members[] = {
    {"name", T_OBJECT, offsetof(Region, name), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

PyType_Slot region_slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(make_region)},
    {Py_tp_dealloc, reinterpret_cast<void*>(free_region)},
    {Py_tp_methods, region_methods},
    {Py_tp_members, region_members},
    {0, nullptr},
};

PyType_Spec region_spec = {"stepscope._hot.Region", sizeof(Region), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                           region_slots};

PyMethodDef spans_methods[] = {
    {"take", as_method(take), METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyMemberDef spans_members[] = {
    {"limit", T_LONGLONG, offsetof(Spans, limit), 0, nullptr},
    {"dropped", T_LONGLONG, offsetof(Spans, dropped), 0, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

PyType_Slot spans_slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(make_spans)},
    {Py_tp_dealloc, reinterpret_cast<void*>(free_spans)},
    {Py_tp_methods, spans_methods},
    {Py_tp_members, spans_members},
    {Py_sq_length, reinterpret_cast<void*>(count_spans)},
    {0, nullptr},
};

PyType_Spec spans_spec = {"stepscope._hot.Spans", sizeof(Spans), 0, Py_TPFLAGS_DEFAULT, spans_slots};

PyMethodDef functions[] = {
    {"connect", as_method(connect), METH_VARARGS, nullptr},
    {"forget_threads", as_method(forget_threads), METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

bool add_regions(PyObject* module) {
  active_text = PyUnicode_InternFromString("active");
  mirror_text = PyUnicode_InternFromString("mirror");
  enabled_text = PyUnicode_InternFromString("enabled");
  regions_text = PyUnicode_InternFromString("regions");
  step_text = PyUnicode_InternFromString("step");
  if (!active_text || !mirror_text || !enabled_text || !regions_text || !step_text) return false;
  if (PyModule_AddFunctions(module, functions) != 0) return false;
  PyObject* region = add_type(module, "Region", &region_spec);
  Py_XDECREF(region);
  spans_type = reinterpret_cast<PyTypeObject*>(add_type(module, "Spans", &spans_spec));  // never given back
  return region != nullptr && spans_type != nullptr;
}

}  // namespace stepscope
