// In the place of tools that parts of tools/gpu use: compute-sanitizer, ncu, PyTorch.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** compute-sanitizer: runs the cases without input, and finds a race. */
export const sanitizer = `#!/bin/sh
if [ "$1" = --version ]; then echo 'version 1.0'; exit; fi
tool=$2
shift 6
if [ $tool = racecheck ]; then echo '========= Error: Race reported between Write access and Read access'; fi
exec "$@" < /dev/null
`;

/** compute-sanitizer as the parent of what it runs, whose process id it writes to a file. */
export const sanitizerBeside = (pidFile: string) => `#!/bin/sh
if [ "$1" = --version ]; then echo 'version 1.0'; exit; fi
shift 6
"$@" < /dev/null &
echo $! > ${pidFile}
wait
`;

const ncuStart = `#!/bin/sh
if [ "$1" = --version ]; then echo 'Version 2025.3.0.0'; exit; fi
while :; do
  case $1 in
    --csv) shift ;;
    --log-file) log=$2; shift 2 ;;
    --*) shift 2 ;;
    *) break ;;
  esac
done
`;

const ncuColumns = [
  ...['ID', 'Process ID', 'Process Name', 'Host Name', 'Kernel Name', 'Context', 'Stream', 'Block Size'],
  ...['Grid Size', 'Device', 'CC', 'Section Name', 'Metric Name', 'Metric Unit', 'Metric Value'],
  ...['Rule Name', 'Rule Type', 'Rule Description', 'Estimated Speedup Type', 'Estimated Speedup'],
];
const csv = (cells: readonly string[]) => cells.map((cell) => `"${cell}"`).join(',');

/** A metric of ncu's first launch. */
const ncuLine = (section: string, metric: string, unit: string, value: string) =>
  csv([
    ...[
      '0',
      '7',
      'node',
      '127.0.0.1',
      'linear_few_1_q4_k',
      '1',
      '7',
      '(256, 1, 1)',
      '(264, 1, 1)',
      '0',
      '9.0',
    ],
    ...[section, metric, unit, value, '', '', '', '', ''],
  ]);

const ncuLines = [
  '==PROF== Connected to process 7 (node)',
  csv(ncuColumns),
  ncuLine('GPU Speed Of Light Throughput', 'Memory Throughput', '%', '71.25'),
  ncuLine('GPU Speed Of Light Throughput', 'Duration', 'us', '12.35'),
  ncuLine('Memory Workload Analysis', 'Memory Throughput', 'Tbyte/s', '2.31'),
  ncuLine('Launch Statistics', 'Registers Per Thread', 'register/thread', '1,072'),
];

/** ncu: runs the ops, then writes the counters of one kernel. */
export const ncu = `${ncuStart}"$@" < /dev/null || exit
printf '%s\\n' ${ncuLines.map((line) => `'${line}'`).join(' ')} > "$log"
`;

/** ncu for a user who may not read counters. */
export const ncuForbidden = `${ncuStart}echo '==ERROR== ERR_NVGPUCTRPERM - The user does not have permission' > "$log"
exit 1
`;

const torch = `import contextlib

__version__ = "0.0-stub"
bfloat16, uint8 = "bfloat16", "uint8"


class Tensor:
    def __init__(self, *shape):
        self.shape = shape

    def copy_(self, other):
        return self

    def view(self, *shape):
        return Tensor(*shape)


def ones(*shape, **_):
    return Tensor(*shape)


def empty_like(other):
    return Tensor(*other.shape)


def matmul(a, b):
    return Tensor(a.shape[0], b.shape[1])


randn, no_grad = ones, contextlib.nullcontext
from . import cuda
`;

/** Each measurement takes two milliseconds. */
const torchCuda = `import contextlib


class Stream:
    def wait_stream(self, other):
        pass


class Event:
    def __init__(self, enable_timing):
        pass

    def record(self):
        pass

    def elapsed_time(self, end):
        return 2.0


class CUDAGraph:
    def replay(self):
        pass


def is_available():
    return True


def synchronize():
    pass


@contextlib.contextmanager
def stream(_):
    yield


current_stream, empty_cache, graph = Stream, synchronize, stream
`;

/** No attention: a PyTorch that is too old. */
const torchFunctional = `def linear(x, w):
    assert x.shape[1] == w.shape[1]
`;

/** A folder for PYTHONPATH with the functions that torch-ops.py calls. */
export function makeTorch(folder: string): string {
  const files = {
    '__init__.py': torch,
    'cuda.py': torchCuda,
    'nn/__init__.py': '',
    'nn/functional.py': torchFunctional,
  };
  mkdirSync(join(folder, 'torch/nn'), { recursive: true });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, 'torch', name), text);
  return folder;
}
