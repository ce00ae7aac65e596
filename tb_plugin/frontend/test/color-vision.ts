// How colours look to people with a colour vision deficiency, and how far apart two colours are: for the palette's test.
// Matrices of Machado, Oliveira and Fernandes (2009) for severity 1, on linear light; distances in OKLab (Ottosson 2020).

import { linear, parseHex } from "../src/color";

type Triple = [number, number, number];
type Matrix = [Triple, Triple, Triple];

const identity: Matrix = [
  [1, 0, 0],
  [0, 1, 0],
  [0, 0, 1],
];

export const VISIONS: Record<string, Matrix> = {
  normal: identity,
  protanopia: [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  deuteranopia: [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  tritanopia: [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
};

function times(matrix: Matrix, v: Triple): Triple {
  return matrix.map((row) => row[0] * v[0] + row[1] * v[1] + row[2] * v[2]) as Triple;
}

function oklab(light: Triple): Triple {
  const [l, m, s] = times(
    [
      [0.4122214708, 0.5363325363, 0.0514459929],
      [0.2119034982, 0.6806995451, 0.1073969566],
      [0.0883024619, 0.2817188376, 0.6299787005],
    ],
    light,
  ).map((v) => Math.cbrt(Math.max(0, v)));
  return times(
    [
      [0.2104542553, 0.793617785, -0.0040720468],
      [1.9779984951, -2.428592205, 0.4505937099],
      [0.0259040371, 0.7827717662, -0.808675766],
    ],
    [l, m, s],
  );
}

/** Distance of two colours in OKLab (black to white is 1) as seen with the given vision. */
export function distance(a: string, b: string, vision: Matrix): number {
  const seen = (hex: string) => {
    const light = parseHex(hex).map(linear) as Triple;
    return oklab(times(vision, light).map((v) => Math.min(1, Math.max(0, v))) as Triple);
  };
  const x = seen(a);
  const y = seen(b);
  return Math.hypot(x[0] - y[0], x[1] - y[1], x[2] - y[2]);
}
