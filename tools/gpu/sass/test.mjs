// The lint finds each planted fault, and none in sound kernels; its reading of instructions is held against nvcc. Needs nvcc.
//   node tools/gpu/sass/test.mjs
import { compile, nvccVersion } from '../compiled-kernels.mjs';
import { readCubin } from './cubin.mjs';
import { flowOf } from './flow.mjs';
import { lint } from './lint.mjs';
import { bytesInFlight, countOf, hotLoop } from './rules.mjs';

const kernel = (name, body) =>
  `extern "C" __global__ void ${name}(int* p, int* q, int n, int m) { int a = threadIdx.x; ${body} }`;

/** [kernel, its body, how many of each instruction it has, bytes of loads under way if it loads]. In inline PTX, which nvcc keeps. */
const readings = [
  ['load', 'q[a] = p[a];', { LDG: 1, STG: 1, EXIT: 1 }, 4],
  ['load_16', 'int4 v = ((int4*)p)[a]; q[a] = v.x + v.y + v.z + v.w;', { LDG: 1, STG: 1 }, 16],
  [
    'generic',
    'asm volatile("ld.s32 %0,[%1];" : "=r"(a) : "l"(p)); asm volatile("st.s32 [%0],%1;" :: "l"(q), "r"(a));',
    { LD: 1, ST: 1, LDG: 0, STG: 0 },
  ],
  [
    'shared',
    '__shared__ int s[64]; s[a] = n; __syncthreads(); q[a] = s[a ^ 1];',
    { STS: 1, LDS: 1, BAR: 1, STG: 1 },
  ],
  ['exchange', 'q[0] = atomicExch(p, a);', { ATOM: 1, STG: 1 }],
  ['compare', 'q[0] = atomicCAS(p, 1, a);', { ATOM: 1, STG: 1 }],
  ['reduce', 'atomicAdd((float*)p, 1.0f);', { RED: 1, STG: 0 }],
  [
    'shuffles',
    'q[a] = __shfl_xor_sync(~0u, p[a], 1) + __shfl_sync(~0u, p[a], n) + __shfl_down_sync(~0u, p[a], m);',
    { SHFL: 3 },
  ],
  [
    'lanes_apart',
    'int v = p[a]; if (a < m) v += __shfl_xor_sync(~0u, n, 1) + p[a + n]; q[a] = v;',
    { LDG: 2, STG: 1 },
    8,
  ],
  ['prefetches', 'asm volatile("prefetch.global.L2 [%0];" :: "l"(p));', { CCTL: 1, LDG: 0 }],
  [
    'copies',
    '__shared__ int4 s[64]; unsigned at = (unsigned)__cvta_generic_to_shared(s + a); asm volatile("cp.async.ca.shared.global [%0],[%1],16; cp.async.commit_group; cp.async.wait_group 0;" :: "r"(at), "l"(p) : "memory"); ((int4*)q)[a] = s[a];',
    { LDGSTS: 1, LDG: 0 },
  ],
  [
    'matrices',
    '__shared__ int4 s[64]; s[a] = ((int4*)p)[a]; __syncthreads(); unsigned at = (unsigned)__cvta_generic_to_shared(s + a); int4 v; asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3},[%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "r"(at)); ((int4*)q)[a] = v;',
    { LDSM: 1, STS: 1 },
  ],
  [
    'product',
    'float f[4] = {}; asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3},{%4,%4,%4,%4},{%5,%5},{%0,%1,%2,%3};" : "+f"(f[0]), "+f"(f[1]), "+f"(f[2]), "+f"(f[3]) : "r"(n), "r"(m)); ((float4*)q)[a] = {f[0], f[1], f[2], f[3]};',
    { HMMA: 1 },
  ],
  [
    'reciprocal',
    'float f = __int_as_float(n); asm volatile("rcp.approx.ftz.f32 %0,%0;" : "+f"(f)); q[a] = __float_as_int(f);',
    { MUFU: 1 },
  ],
  [
    'multiplies',
    '((float*)q)[a] = __fmaf_rn(((float*)p)[a], __int_as_float(n), __int_as_float(m));',
    { FFMA: 1 },
  ],
  ['array', 'int v[64]; for (int i = 0; i < 64; i++) v[i * a & 63] = p[i]; q[a] = v[n & 63];', { LDL: 1 }],
  [
    'chosen',
    'switch (n) { case 0: q[0] = p[5] * 3; break; case 1: q[1] = p[2]; break; case 2: q[9] = p[7] + 8; break; case 3: q[3] = 4; p[9] = 2; break; case 4: q[6] = p[6]; break; case 5: q[7] = p[5] * p[3]; }',
    {}, // a table of jumps: its targets come from the cubin
  ],
];

// Loads that nvcc may not move.
const loaded = (address) => `asm volatile("ld.global.s32 %0,[%1];" : "=r"(a) : "l"(${address}) : "memory");`;
const wait = 'WAIT;';
const products = (each, end) => `
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  float f[4] = {}; unsigned long x = n, w = m;
  #pragma unroll 1
  for (int i = 0; i < n; i++) {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    #pragma unroll
    for (int k = 0; k < 4; k++) {
      asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0,%1,%2,%3},%4,%5,1,1,1,0,0;" : "+f"(f[0]), "+f"(f[1]), "+f"(f[2]), "+f"(f[3]) : "l"(x + 2 * k), "l"(w + 2 * k) : "memory");
      ${each}
    }
    ${end}
  }
  ((float4*)q)[a] = {f[0], f[1], f[2], f[3]};
#endif
`;
const done =
  'asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" ::: "memory");';

/** [kernel, its body, its faults, the least architecture]. No fault: sound. */
const planted = [
  [
    'early_load',
    `${loaded('p')} ${wait} q[0] = a;`,
    '1 accesses of global memory (LDG) may come before the wait',
    90,
  ],
  ['early_store', `p[0] = n; ${wait} q[0] = a;`, '(STG) may come before the wait', 90],
  ['early_sum', `atomicAdd((float*)p, 1.0f); ${wait} q[0] = a;`, '(RED) may come before the wait', 90],
  [
    'half_wait',
    `if (n > 0) { ${wait} } q[0] = a;`,
    '(STG) may come before the wait; 1 ends may come without a wait',
    90,
  ],
  ['no_wait_at_end', `if (n > 0) return; ${wait} q[0] = a;`, '1 ends may come without a wait', 90],
  ['second_wait', `${wait} q[0] = a; if (n > 0) { ${wait} } q[1] = a;`, 'waits twice', 90],
  [
    'constant_load',
    `${wait} asm volatile("ld.global.nc.s32 %0,[%1];" : "=r"(a) : "l"(p)); q[0] = a;`,
    '1 loads of ld.global.nc',
    80,
  ],
  [
    'rms_norm_spilled',
    `${wait} int v[64]; for (int i = 0; i < 64; i++) v[i * a & 63] = p[i]; q[a] = v[n & 63];`,
    'accesses of local memory',
    80,
  ],
  [
    'rms_norm_divides',
    `${wait} for (int i = a; i < n; i += 32) q[i] = p[i] / p[i + m];`,
    'integer divisions in a loop',
    80,
  ],
  [
    'rms_norm_divides_long',
    `${wait} for (int i = a; i < n; i += 32) ((long*)q)[i] = ((long*)p)[i] / ((long*)p)[i + m];`,
    'integer divisions in a loop',
    80,
  ],
  [
    'serial',
    `${wait} for (int i = a; i < n; i += 32) ((float*)q)[i] = ((float*)p)[i] + ((float*)p)[i + m];`,
    '8 bytes of loads under way in a thread, 16 expected',
    80,
  ],
  ['serialised', `${wait} ${products(done, '')}`, '4 waits for 4 products of a warpgroup', 90],
  ['sound', `asm volatile("prefetch.global.L2 [%0];" :: "l"(p)); ${wait} q[0] = p[a] / n;`, '', 80],
  [
    'rms_norm_divides_outside',
    `${wait} for (int i = a; i < n; i += 32) { int sum = 0, end = p[i] / m; for (int k = 0; k < end; k++) sum += p[k] ^ sum; q[i] = sum; }`,
    '',
    80,
  ],
  ['sound_products', `${wait} ${products('', done)}`, '', 90],
  [
    'together',
    `${wait} for (int i = a; i < n; i += 128) { float v[4]; for (int k = 0; k < 4; k++) v[k] = ((float*)p)[i + k * 32]; for (int k = 0; k < 4; k++) ((float*)q)[i + k * 32] = v[k]; }`,
    '',
    80,
  ],
];
const expected = new Map([
  ['serial', 16],
  ['together', 16],
]);

const head = `#if __CUDA_ARCH__ >= 900
#define WAIT asm volatile("griddepcontrol.wait;" ::: "memory")
#else
#define WAIT
#endif
`;
const source = (all) => `${head}${all.map(([name, body]) => kernel(name, body)).join('\n')}\n`;

let failed = 0;
function fail(message) {
  failed++;
  console.error(`FAIL ${message}`);
}

async function readingsOf(architecture) {
  const { capability, kernels } = readCubin((await compile(architecture, source(readings))).cubin);
  for (const [name, , counts, bytes] of readings) {
    const flow = flowOf(
      kernels.find((each) => each.name === name),
      capability,
    );
    const { instructions, reached } = flow;
    const real = instructions.filter(({ never }) => !never);
    const lost = instructions.find(({ name }, at) => /^(EXIT|CALL|RET)$/.test(name) && !reached.has(at));
    if (lost) fail(`sm_${architecture}, ${name}: ${lost.name} is not reached`);
    if (bytes !== undefined && bytesInFlight(flow) !== bytes)
      fail(`sm_${architecture}, ${name}: ${bytesInFlight(flow)} bytes under way, ${bytes} expected`);
    for (const [instruction, count] of Object.entries(counts))
      if (countOf(real, instruction) !== count)
        fail(`sm_${architecture}, ${name}: ${countOf(real, instruction)} ${instruction}, ${count} expected`);
  }
}

async function faultsOn(architecture) {
  const { cubin } = await compile(architecture, source(planted));
  const capability = Number.parseInt(architecture, 10);
  const found = lint(cubin, expected);
  for (const [name, , faults, least] of planted) {
    const of = found.filter((each) => each.startsWith(`${name}: `));
    const absent = capability < least || (name === 'serialised' && architecture !== '90a');
    const wanted = absent || faults === '' ? [] : faults.split('; ');
    if (of.length !== wanted.length || !wanted.every((each, i) => of[i].includes(each)))
      fail(`sm_${architecture}, ${name}: '${of.join('; ')}', '${wanted.join('; ')}' expected`);
  }
  if (architecture === '90a') hotLoopOf(readCubin(cubin));
}

function hotLoopOf({ capability, kernels }) {
  const flow = flowOf(
    kernels.find(({ name }) => name === 'sound_products'),
    capability,
  );
  const count = countOf(
    hotLoop(flow, ({ name }) => name === 'HGMMA'),
    'HGMMA',
  );
  if (count !== 4) fail(`the hot loop of sound_products has ${count} HGMMA, 4 expected`);
}

if (nvccVersion() === undefined)
  console.log('SKIP nvcc is not installed: the lint of machine code is not tested');
else {
  for (const architecture of ['80', '90a', '120']) {
    await readingsOf(architecture);
    await faultsOn(architecture);
  }
  if (failed === 0)
    console.log(
      `PASS the lint of machine code: ${readings.length} readings, ${planted.length} kernels with planted faults or none, three architectures`,
    );
  process.exitCode = failed === 0 ? 0 : 1;
}
