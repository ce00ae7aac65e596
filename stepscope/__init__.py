"""stepscope: a profiler for PyTorch and TensorFlow training that ends in TensorBoard.

The core package imports no framework. ``annotate`` marks a region of a training script:

>>> import stepscope
>>> with stepscope.annotate("augment"):
...     pass
"""

from stepscope.annotate import annotate, annotation_begin, annotation_end

__version__ = "0.1.0"
__all__ = ["__version__", "annotate", "annotation_begin", "annotation_end"]
