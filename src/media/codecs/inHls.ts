import type { TrackInfo } from '../frame.ts'
import { hasOwnLayout } from './aac.ts'
import { CODECS } from './codecs.ts'

/** Whether HLS has a track as it is: always, only where the codecs of the publisher are requested, or never. */
export const inHls = (track: TrackInfo): (typeof CODECS)[TrackInfo['codec']]['inHls'] =>
  hasOwnLayout(track) ? 'never' : CODECS[track.codec].inHls
