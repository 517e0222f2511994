% octave-cli octave.m writes the .mat files beside it (GNU Octave 7.3): the two regions of ../test_regions.py.
A = {[1 0; 0 1; 0 -1], [-1 0; 0 1; 0 -1]}; b = {[0; 1; 1], [0; 1; 1]};
F = {[-1 0; 0 2], [1 0; 0 2]}; g = {[0; 3], [0; 3]};
for i = 1:2
  Set(i) = struct('H', [A{i} b{i}], 'He', zeros(0, 3), 'F', F{i}, 'g', g{i});
  Nested(i) = struct('A', A{i}, 'b', b{i}, 'Functions', struct('primal', struct('F', F{i}, 'g', g{i})));
  Pn(i) = struct('H', A{i}, 'K', b{i});
  Solution(i) = struct('H', A{i}, 'K', b{i}, 'F', F{i}, 'G', g{i});
end
save('-v7', 'octave_mpt3.mat', 'Set');
save('-v6', 'octave_mpt3_v6.mat', 'Set');
optimizer = struct('Set', Nested, 'Num', int8(2));
save('-v7', 'octave_mpt3_functions.mat', 'optimizer');
ctrl = struct('Pn', Pn, 'Fi', {F}, 'Gi', {g}, 'details', struct('name', 'law', 'flag', true, 'single', single(2)));
save('-v7', 'octave_mpt2.mat', 'ctrl');
obj = struct('PiecewiseAffineSolution', Solution, 'IsSimplified', false);
save('-v7', 'octave_explicit_mpc.mat', 'obj');
