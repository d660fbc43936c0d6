/** All that the drawings need to know of the theme. */
export interface Palette {
  isDark: boolean;
  groups: string[]; // by group
  other: string;
  text: string;
  muted: string;
  line: string;
  panel: string;
  accent: string;
  warning: string;
  inner: string; // scopes in the flame graph
}

// Neighbours in a stack differ clearly, and the first ones do for all kinds of eyes.
const HUES = [252, 62, 165, 308, 92, 22, 215, 345, 130, 280, 45];

export function paletteOf(isDark: boolean): Palette {
  const lightness = isDark ? [0.67, 0.62] : [0.75, 0.71];
  const chroma = isDark ? 0.1 : 0.105;
  const groups = HUES.map((hue, i) => hex(oklch(lightness[i % 2], chroma, hue)));
  return isDark
    ? {
        isDark, groups, other: '#5b626c', text: '#e2e5e9', muted: '#8b929c', line: '#2b3036',
        panel: '#191c20', accent: '#7cb0ff', warning: '#f0a35e', inner: '#31373f',
      }
    : {
        isDark, groups, other: '#b4b8be', text: '#1e2227', muted: '#666c75', line: '#e4e3df',
        panel: '#ffffff', accent: '#2563c9', warning: '#b85c00', inner: '#e7e6e2',
      };
}

export type Rgb = readonly [number, number, number];

/** From the perceptual space OKLCH: equal lightness looks equally light in every hue. */
export function oklch(lightness: number, chroma: number, hue: number): Rgb {
  const a = chroma * Math.cos((hue * Math.PI) / 180);
  const b = chroma * Math.sin((hue * Math.PI) / 180);
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    channel(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
    channel(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
    channel(-0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s),
  ];
}

function channel(linear: number): number {
  const value = linear <= 0.0031308 ? 12.92 * linear : 1.055 * linear ** (1 / 2.4) - 0.055;
  return Math.round(255 * Math.min(1, Math.max(0, value)));
}

export function hex(color: Rgb): string {
  return `#${color.map((each) => each.toString(16).padStart(2, '0')).join('')}`;
}

export function rgbOf(color: string): Rgb {
  const value = Number.parseInt(color.slice(1), 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
}

/** `part` of the way from one colour to the other. */
export function mixed(from: string, to: string, part: number): string {
  const [a, b] = [rgbOf(from), rgbOf(to)];
  return hex([0, 1, 2].map((i) => Math.round(a[i] + (b[i] - a[i]) * part)) as unknown as Rgb);
}

/** As the pixels of an ImageData are stored: 0xAABBGGRR. */
export function pixelOf(color: string): number {
  const [red, green, blue] = rgbOf(color);
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}
