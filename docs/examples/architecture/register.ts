// Makes the architecture known by an import, which bundlers see: import 'quern-pumice/register'.
import { registerArchitecture } from '@quern/models';
import { architectures } from './index.js';

for (const architecture of architectures) registerArchitecture(architecture, { package: 'quern-pumice' });
