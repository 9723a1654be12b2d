import type { Backend } from '@quern/core';
import type { Case, Suite } from '../case.js';
import type { CreateBackend } from '../conformance-options.js';
import { refusal } from '../values/refusal.js';

const suite = 'options';

/** No backend has an option of this name. */
const unknown = 'quernConformanceUnknownOption';

const disposed = async (making: Promise<Backend> | Backend): Promise<void> => (await making).dispose();

/** `createBackend` refuses options that it does not know, and takes those that every backend gets. */
const casesOf = (createBackend: CreateBackend): readonly Case[] => [
  {
    suite,
    name: 'an unknown option is refused',
    async run() {
      await refusal('BAD_ARGUMENT', () => disposed(createBackend({ [unknown]: 1 })));
    },
  },
  {
    suite,
    name: 'the option `threads`, which every backend may get, is taken or ignored',
    async run() {
      await disposed(createBackend({ threads: 1 }));
    },
  },
];

export const options: Suite = ({ options: { createBackend } }) =>
  createBackend
    ? casesOf(createBackend)
    : [
        {
          suite,
          name: 'createBackend',
          notSupported: 'the kit has no createBackend: its options are not tested',
        },
      ];
