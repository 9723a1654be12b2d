// Makes the architecture known by an import, which bundlers see: import 'quern-olmo2/register'.
import { registerArchitecture } from '@quern/models';
import { architectures } from './index.js';

for (const architecture of architectures) registerArchitecture(architecture, { package: 'quern-olmo2' });
