// A request as the pages of the documentation write it: `POST /path`, an empty line, and a JSON body.
import { SAMPLE_SERVER, type SampleRequest } from '../../src/edge/http/docs/samples.ts'

/** @throws Error if the block is something else, since a page that loses its samples would not be noticed */
export function requestOfBlock(code: string): SampleRequest {
  const [, method, path, body = ''] =
    code.trimEnd().match(/^(GET|POST|PUT|PATCH|DELETE) (\/\S+)(?:\n\n([\s\S]+))?$/) ?? []
  if (method === undefined || path === undefined) throw new Error(`not a request: ${code}`)
  if (body !== '') JSON.parse(body)
  return {
    method,
    url: SAMPLE_SERVER + path,
    isBasic: path.startsWith('/v2/'),
    json: body === '' ? null : body,
    fileType: null,
  }
}
