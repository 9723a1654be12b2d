import { freemem, totalmem } from 'node:os';
import { coreOps, denseFormats, hostMemory, type KernelDriver, type OpSupport } from '@quern/core';
import { attention } from './attention.js';
import { kvAppend } from './cache.js';
import { add, mul, swiglu } from './elementwise.js';
import { fromDefinition } from './from-definition.js';
import { measure } from './measure.js';
import { addRmsNorm, rmsNorm } from './norms.js';
import { embed, gateUpSwiglu, gatherRows, linear } from './products.js';
import { rope } from './rope.js';
import { argmax, softmax } from './rows.js';
import { loadWeight } from './weight.js';

const f32: OpSupport = { dtypes: ['f32'] };
const f32AndWeights: OpSupport = { dtypes: ['f32'], weightFormats: denseFormats };
const f32AndCaches: OpSupport = { dtypes: ['f32'], cacheDtypes: ['f32', 'f16'] };

/** A driver in plain TypeScript: f32 in memory, own kernels for the ops that models spend their time in. */
export function plainDriver(): KernelDriver {
  return {
    name: 'plain',
    profile: {
      kind: 'interpreter',
      name: `Node ${process.versions.node}`,
      isa: 'f32',
      threads: 1,
      totalMemory: totalmem(),
      ...measure(),
      exactRows: Number.POSITIVE_INFINITY, // no kernel looks at more than one row for another
    },
    freeMemory: freemem,
    manifest: {
      ops: {
        embed: f32AndWeights,
        linear: f32AndWeights,
        add: f32,
        mul: f32,
        scale: f32,
        rmsNorm: f32AndWeights,
        silu: f32,
        gelu: f32,
        swiglu: f32,
        geglu: f32,
        ropeTable: f32,
        rope: f32,
        attention: f32AndCaches,
        kvAppend: f32AndCaches,
        softmax: f32,
        argmax: f32,
        topK: f32,
        maskLogits: f32,
        penalise: f32,
        gatherRows: f32,
        cast: { dtypes: ['f32', 'f16', 'bf16'] },
        expertLinear: f32AndWeights,
        weightedSum: f32,
        layerNorm: f32AndWeights,
        uncachedAttention: f32,
        pool: f32,
        l2Normalise: f32,
        conv1d: f32AndWeights,
        log10: f32,
        tanh: f32,
        sample: f32,
      },
      fused: { addRmsNorm: f32AndWeights, gateUpSwiglu: f32AndWeights },
    },
    capabilities: { pagedKv: { blockSizes: [8, 16, 32, 64] } },
    kernels: {
      embed,
      linear,
      add,
      mul,
      scale: fromDefinition(coreOps.scale),
      rmsNorm,
      silu: fromDefinition(coreOps.silu),
      gelu: fromDefinition(coreOps.gelu),
      swiglu,
      geglu: fromDefinition(coreOps.geglu),
      ropeTable: fromDefinition(coreOps.ropeTable),
      rope,
      attention,
      kvAppend,
      softmax,
      argmax,
      topK: fromDefinition(coreOps.topK),
      maskLogits: fromDefinition(coreOps.maskLogits),
      penalise: fromDefinition(coreOps.penalise),
      gatherRows,
      cast: fromDefinition(coreOps.cast),
      expertLinear: fromDefinition(coreOps.expertLinear),
      weightedSum: fromDefinition(coreOps.weightedSum),
      layerNorm: fromDefinition(coreOps.layerNorm),
      uncachedAttention: fromDefinition(coreOps.uncachedAttention),
      pool: fromDefinition(coreOps.pool),
      l2Normalise: fromDefinition(coreOps.l2Normalise),
      conv1d: fromDefinition(coreOps.conv1d),
      log10: fromDefinition(coreOps.log10),
      tanh: fromDefinition(coreOps.tanh),
      sample: fromDefinition(coreOps.sample),
      addRmsNorm,
      gateUpSwiglu,
    },
    memory: hostMemory(),
    loadWeight,
    freeWeight() {}, // the garbage collector's work
    dispose() {},
  };
}
