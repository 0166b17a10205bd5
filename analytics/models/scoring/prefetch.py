"""Loads memory before it is needed: with many series in any order each row would wait for its own state."""

from collections.abc import Callable
from typing import Any, cast

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

_LINE_BYTES = 64


def _typed(context: Any, array: Any, row: Any, first: Any, size: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = signature.args[0]
        made = context.make_array(kind)(context, builder, arguments[0])
        stride = builder.extract_value(made.strides, 0)
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        at = builder.add(builder.mul(arguments[1], stride), arguments[2])
        start = builder.gep(builder.bitcast(made.data, byte), [at])
        prefetch_of = builder.module.declare_intrinsic(
            "llvm.prefetch", [byte], ir.FunctionType(ir.VoidType(), [byte, word, word, word])
        )
        zero, line = context.get_constant(types.intp, 0), context.get_constant(types.intp, _LINE_BYTES)
        with cgutils.for_range_slice(builder, zero, arguments[3], line, zero.type) as (offset, _):
            builder.call(prefetch_of, [builder.gep(start, [offset]), word(1), word(3), word(1)])
        return context.get_dummy_value()

    return types.void(array, types.intp, types.intp, types.intp), generate


_intrinsic = intrinsic(_typed)
prefetch = cast(Callable[[NDArray[Any], int, int, int], None], _intrinsic)
"""``prefetch(array, row, first, size)``, for compiled functions: brings so many bytes of ``array[row]`` near, from the
byte ``first`` on. It has no effect on results."""
