import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** The options of NVENC that libx264 has under other names, or not at all. */
const ONLY_NVENC = '-preset|-tune|-rc|-forced-idr|-no-scenecut|-delay|-zerolatency|-gpu'

/**
 * An ffmpeg with the encoder h264_nvenc that works without hardware: it is libx264. Every command line that names the
 * encoder goes into the file `calls` beside it.
 * @param more options of the encoder, after all others
 */
export function ffmpegWithNvenc(folder: string, more = ''): { path: string; calls: string } {
  const [path, calls] = [join(folder, 'ffmpeg-nvenc'), join(folder, 'calls')]
  writeFileSync(
    path,
    [
      '#!/bin/sh',
      'case " $* " in *" h264_nvenc "*) ;; *) exec ffmpeg "$@" ;; esac',
      `echo "$*" >> '${calls}'`,
      'left=$#',
      'while [ "$left" -gt 0 ]; do',
      '  word=$1; shift; left=$((left - 1))',
      '  case "$word" in',
      `    h264_nvenc) set -- "$@" libx264 -preset superfast -tune zerolatency -sc_threshold 0 ;;`,
      `    ${ONLY_NVENC}) shift; left=$((left - 1)) ;;`,
      // Before the output: each begins with its format.
      `    -f) case "$1" in mp4) set -- "$@" ${more} -f ;; *) set -- "$@" -f ;; esac ;;`,
      '    *) set -- "$@" "$word" ;;',
      '  esac',
      'done',
      'exec ffmpeg "$@"',
      '',
    ].join('\n'),
  )
  chmodSync(path, 0o755)
  return { path, calls }
}
