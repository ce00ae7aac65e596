// The Python module stepscope._hot.
#include <ctime>

#include "hot.h"

namespace stepscope {

#if defined(__linux__)

int64_t now_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);  // what Python's perf_counter reads on Linux
  return static_cast<int64_t>(now.tv_sec) * 1000000000 + now.tv_nsec;
}

static bool find_clock() { return true; }

#else

static PyObject* clock_function = nullptr;

int64_t now_ns() {
  PyObject* now = PyObject_CallNoArgs(clock_function);
  const long long ns = now == nullptr ? 0 : PyLong_AsLongLong(now);
  Py_XDECREF(now);
  PyErr_Clear();
  return ns;
}

static bool find_clock() {
  PyObject* time = PyImport_ImportModule("time");
  clock_function = time == nullptr ? nullptr : PyObject_GetAttrString(time, "perf_counter_ns");
  Py_XDECREF(time);
  return clock_function != nullptr;
}

#endif

}  // namespace stepscope

static PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_hot", nullptr, -1, nullptr, nullptr, nullptr, nullptr, nullptr};

PyMODINIT_FUNC PyInit__hot() {
  PyObject* module = PyModule_Create(&definition);
  if (module == nullptr) return nullptr;
  PyObject* sources = PyLong_FromUnsignedLongLong(STEPSCOPE_SOURCES);  // stepscope/built_from.py
  const bool told = sources != nullptr && PyModule_AddObjectRef(module, "SOURCES", sources) == 0;
  Py_XDECREF(sources);
  if (!told || !stepscope::find_clock() || !stepscope::add_marks(module) || !stepscope::add_planes(module) ||
      !stepscope::add_regions(module)) {
    Py_DECREF(module);
    return nullptr;
  }
  return module;
}
