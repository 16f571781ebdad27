import { expect, it } from 'vitest'
import { imageUrl } from '../../web/player/brand.ts'

it('an image of a page is over https or from its own origin', () => {
  const page = 'http://site.test/shows/one'
  expect(imageUrl('https://cdn.test/logo.svg', page)).toBe('https://cdn.test/logo.svg')
  expect(imageUrl('../logo.png', page)).toBe('http://site.test/logo.png')
  expect(imageUrl('//cdn.test/a.png', 'https://site.test/')).toBe('https://cdn.test/a.png')
  for (const wrong of [
    '',
    'http://cdn.test/logo.svg',
    '//cdn.test/logo.svg',
    'data:image/png;base64,AA==',
    'blob:http://site.test/1',
    'javascript:alert(1)',
    'file:///etc/passwd',
    'https://',
  ])
    expect([wrong, imageUrl(wrong, page)]).toEqual([wrong, null])
  // A page without an origin of its own has no images of its own.
  expect(imageUrl('data:image/png;base64,AA==', 'about:srcdoc')).toBe(null)
})
