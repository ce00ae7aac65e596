// Times of marks as they lie in a block: the same as stepscope.store.blocks.python_planes, which says how.
#include "hot.h"

#include <cstring>

namespace stepscope {
namespace {

PyObject* planes(PyObject*, PyObject* arguments) {
  const char* times;
  Py_ssize_t size;
  Py_ssize_t marks;
  long long offset;
  if (!PyArg_ParseTuple(arguments, "y#nL", &times, &size, &marks, &offset)) return nullptr;
  const Py_ssize_t count = size / static_cast<Py_ssize_t>(sizeof(uint64_t));
  if (marks < 1 || size % static_cast<Py_ssize_t>(sizeof(uint64_t)) != 0 || count % marks != 0) {
    PyErr_SetString(PyExc_ValueError, "times are so many marks of each step");
    return nullptr;
  }
  PyObject* packed = PyBytes_FromStringAndSize(nullptr, size);
  if (packed == nullptr) return nullptr;
  char* out = PyBytes_AsString(packed);
  const Py_ssize_t steps = count / marks;
  uint64_t before = 0 - static_cast<uint64_t>(offset);  // unsigned: sums wrap around
  for (Py_ssize_t step = 0; step < steps; ++step) {
    for (Py_ssize_t mark = 0; mark < marks; ++mark) {
      uint64_t at;
      std::memcpy(&at, times + (step * marks + mark) * static_cast<Py_ssize_t>(sizeof at), sizeof at);
      const uint64_t gap = at - before;
      before = at;
      for (int byte = 0; byte < 8; ++byte) out[byte * count + mark * steps + step] = static_cast<char>(gap >> 8 * byte);
    }
  }
  return packed;
}

PyMethodDef functions[] = {
    {"planes", as_method(planes), METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

bool add_planes(PyObject* module) { return PyModule_AddFunctions(module, functions) == 0; }

}  // namespace stepscope
