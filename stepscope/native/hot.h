// What training code runs through in each step, for the Python module stepscope._hot. By the stable ABI; every
// function here is called with the GIL held and keeps it, but for Marks.wait: that makes each of them one indivisible
// step.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#include <cstdint>

namespace stepscope {

// The clock of time.perf_counter_ns, in ns.
int64_t now_ns();

// Each adds its types to the module; false with an exception set.
bool add_marks(PyObject* module);
bool add_planes(PyObject* module);
bool add_regions(PyObject* module);

// A bound method as a slot or a method table wants it.
template <class Function>
PyCFunction as_method(Function function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)(void)>(function));
}

// A type of the module, made of its spec; null with an exception set.
inline PyObject* add_type(PyObject* module, const char* name, PyType_Spec* spec) {
  PyObject* type = PyType_FromSpec(spec);
  if (type == nullptr) return nullptr;
  Py_INCREF(type);  // the module takes one, the caller keeps one
  if (PyModule_AddObject(module, name, type) != 0) {
    Py_DECREF(type);
    Py_DECREF(type);
    return nullptr;
  }
  return type;
}

inline void free_object(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(reinterpret_cast<PyObject*>(type));
}

}  // namespace stepscope
