"""The pages for users of MiniTorch and Norch: every example gives what it shows, and every public
name of theirs stands there."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest
import weft as wf
from project_root import ROOT

DOCS = ROOT / "docs"
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE

# By page, the public names of the library (minitorch/*.py and project/*.py; norch/**/*.py).
NAMES = {
    "from-minitorch.md": (
        """
        mul id add neg lt eq max is_close sigmoid relu EPS log exp log_back inv inv_back relu_back
        map zipWith reduce negList addLists sum prod
        Module modules train eval named_parameters parameters add_parameter Parameter value update
        Scalar ScalarHistory ScalarFunction derivative_check data derivative unique_id name
        central_difference Variable topological_sort backpropagate Context save_for_backward
        saved_values saved_tensors History FunctionBase is_constant is_leaf accumulate_derivative
        parents chain_rule backprop_step zero_derivative_ zero_grad_
        Tensor to_numpy shape size dims item mean permute view contiguous all backward expand zeros
        tuple get_data detach make requires_grad_ requires_grad backend grad _type_
        TensorData IndexingError index_to_position to_index broadcast_index shape_broadcast
        strides_from_shape is_contiguous index indices sample get set to_string MAX_DIMS to_cuda_
        strides
        Function apply Neg Inv Add Mul Sigmoid ReLU Log Exp Sum All LT EQ IsClose Permute View Copy
        MatMul rand tensor grad_central_difference grad_check
        TensorOps TensorBackend SimpleOps SimpleBackend tensor_map tensor_zip tensor_reduce cmap zip
        matrix_multiply make_tensor_backend FastOps tensor_matrix_multiply CudaOps CudaKernelOps
        sum_practice mm_practice THREADS_PER_BLOCK
        tile avgpool2d max_reduce argmax Max softmax logsoftmax maxpool2d dropout
        conv1d conv2d Conv1dFun Conv2dFun tensor_conv1d tensor_conv2d
        Optimizer SGD zero_grad step Graph make_pts simple diag split xor circle spiral datasets
        MathTest MathTestVariable
        run_manual run_scalar run_tensor run_fast_tensor run_mnist run_mnist_multiclass
        run_sentiment run_torch run_torch_sentiment parallel_check show_expression show_tensor
        graph_builder
    """
    ),
    "from-norch.md": (
        """
        Tensor CTensor shape ndim numel device requires_grad grad grad_fn ones_like zeros_like
        reshape unsqueeze squeeze to backward zero_grad detach equal log sum max min sin cos sigmoid
        transpose T register_hook hooks flatten
        AddBackward AddBroadcastedBackward SubBackward SubBroadcastedBackward ScalarMulBackward
        ElementwiseMulBackward MatmulBackward PowBackward LogBackward SumBackward ReshapeBackward
        TransposeBackward TBackward DivisionBackward SinBackward CosBackward MaxBackward MinBackward
        SigmoidBackward CrossEntropyLossBackward
        Module forward train eval parameters modules gradients state_dict load_state save save_dict
        inner_repr get_name
        Parameter Linear Activation Sigmoid Softmax softmax one_hot_encode Loss MSELoss
        CrossEntropyLoss
        Optimizer SGD step Dataset splits download DataLoader Batch Field Example MNIST ToTensor
        Reshape Compose Sequential
        generate_random_list download_from_url extract_to_dir progress_bar get_time to_torch
        compare_torch
        init_process_group get_rank get_world_size broadcast_tensor allreduce_sum_tensor
        allreduce_mean_tensor DistributedDataParallel broadcast_parameters allreduce_grads_hook
        register_grads_hooks DistributedSampler
    """
    ),
}


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("page", NAMES)
def test_the_examples_give_what_they_show(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    wf.manual_seed(0)
    text = (DOCS / page).read_text()
    shared: dict[str, object] = {}
    report: list[str] = []
    for block in re.finditer(r"```python\n(.*?)```", text, re.DOTALL):
        line = text.count("\n", 0, block.start()) + 1
        example = doctest.DocTestParser().get_doctest(block[1], shared, page, page, line)
        assert example.examples, f"{page}:{line}: a block without >>> checks nothing"
        example.globs = shared  # names go on from block to block
        doctest.DocTestRunner(optionflags=FLAGS).run(example, out=report.append, clear_globs=False)
    assert shared and not report, "".join(report)


@pytest.mark.parametrize("page", NAMES)
def test_every_name_of_the_library_stands_there(page: str) -> None:
    prose = re.sub(r"```.*?```", "", (DOCS / page).read_text(), flags=re.DOTALL)
    named = set(re.findall(r"\w+", " ".join(re.findall(r"`[^`]+`", prose))))
    assert not set(NAMES[page].split()) - named


@pytest.mark.parametrize("page", NAMES)
def test_files_that_it_points_to_are_there(page: str) -> None:
    links = re.findall(r"\]\((\.\./[\w./-]+)\)", (DOCS / page).read_text())
    assert links and all((DOCS / link).exists() for link in links)
