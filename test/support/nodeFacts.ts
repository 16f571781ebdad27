import type { NodeFacts } from '../../src/store/sessions.ts'

/** What a node reports of itself, when it has measured nothing yet. */
export const NODE_FACTS: NodeFacts = {
  version: '1',
  cores: 1,
  region: '',
  cpuPercent: null,
  mediaPercent: null,
  egressBitrate: null,
  full: [],
  rtmpPort: 1935,
  rtmpsPort: 0,
  links: null,
  mediaProcessEnd: null,
}
